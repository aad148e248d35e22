"""What a run says about its machine, for the head of the page."""

import re
from html import escape

CARDS = {
    "Machine": {
        "cpu": "CPU",
        "cpu_capability": "vectors",
        "num_cpus": "CPUs",
        "affinity": "affinity",
        "mhz_per_cpu": "MHz",
        "caches": "caches",
        "cpu_scaling_enabled": "frequency scaling",
        "machine_governor": "governor",
        "machine_turbo": "turbo",
        "machine_smt": "threads of cores",
        "machine_cpu_quota": "CPU quota",
        "machine_huge_pages": "huge pages",
        "machine_others": "others use",
        "machine_steal": "stolen",
        "gpu": "GPU",
        "gpu_memory_bytes": "GPU memory, bytes",
        "machine_gpu_clock": "GPU clock",
        "host_name": "host",
    },
    "Versions": {
        "fathom_version": "fathom_bench",
        "git_commit": "commit",
        "libtorch": "LibTorch",
        "libtorch_mkl": "its MKL",
        "libtorch_onednn": "its oneDNN",
        "onednn": "oneDNN",
        "cuda_driver": "CUDA driver",
        "cuda_runtime": "CUDA runtime",
        "cublas": "cuBLAS",
        "cudnn": "cuDNN",
        "compiler": "compiler",
        "compiler_flags": "flags",
    },
    "Settings": {
        "data": "data",
        "rom": "game",
        "seed": "seed",
        "openmp": "OpenMP",
        "malloc": "malloc",
        "fathom_malloc": "--fathom_malloc",
        "fathom_mkl": "--fathom_mkl",
    },
}


def title(context):
    names = [str(context[key]) for key in ("gpu", "cpu") if context.get(key)]
    return " and ".join(names) or str(context.get("host_name", "Unnamed machine"))


def facts(run):
    """One line: how much was measured, with what and when."""
    context = run.context
    found = [f"{len(run.steps)} steps", f"{len(run.ops)} ops alone"]
    if context.get("libtorch"):
        found.append(f"LibTorch {context['libtorch']}")
    if context.get("git_commit"):
        found.append(f"commit {context['git_commit'][:10]}")
    found.append(str(context.get("date", ""))[:10])
    return escape(" · ".join(filter(None, found)))


def caches(sizes):
    """The sizes of the caches of data, as "L1 32 KiB, L2 1 MiB"."""
    found = []
    for cache in sizes:
        if cache["type"] != "Instruction":
            kib = cache["size"] / 1024
            size = f"{kib / 1024:g}\u00a0MiB" if kib >= 1024 else f"{kib:g}\u00a0KiB"
            found.append(f"L{cache['level']}\u00a0{size}")
    return ", ".join(found)


def peaks(context):
    """Pairs of what was reached where and the value, by device and threads."""
    found = []
    for key, value in context.items():
        parts = re.fullmatch(r"peak_(flops|bytes)_(\w+?)_threads(\d+)(?:_(\w+))?", key)
        if parts:
            what, device, threads, precision = parts.groups()
            count = f"{threads} thread{'s' * (threads != '1')}" if device == "cpu" else None
            what = precision if what == "flops" else "memory"
            name = ", ".join(filter(None, (device, count, what)))
            found.append(((device, int(threads), what), name, escape(str(value))))
    return [(name, value) for _, name, value in sorted(found)]


def card(heading, pairs, kind="card"):
    lines = [f"<dt>{escape(name)}</dt><dd>{value}</dd>" for name, value in pairs if value]
    if not lines:
        return ""
    return (
        f'<section class="{kind}"><h2>{heading}</h2><dl>\n' + "\n".join(lines) + "\n</dl></section>"
    )


def text(key, value):
    try:
        if key == "caches":
            return escape(caches(value))
    except (KeyError, TypeError):
        return ""  # Google Benchmark's, not ours
    if key == "git_commit":
        return escape(re.sub(r"^(\w{12})\w+", r"\1", str(value)))
    if isinstance(value, bool):
        return "on" if value else "off"
    return escape(str(value))


def cards(run):
    """The head's cards: machine, versions, settings, peaks, and how each file was made."""
    context = run.context
    made = []
    for heading, names in CARDS.items():
        pairs = [(name, text(key, context[key])) for key, name in names.items() if key in context]
        made.append(card(heading, pairs))
    made.append(card("Measured peaks", peaks(context)))
    commands = [
        (
            str(one.get("date", "Without date")),
            f"<code>{escape(str(one.get('command_line', '')))}</code>",
        )
        for one in run.contexts.values()
    ]
    made.append(card("Command" if len(commands) == 1 else "Commands", commands, "card wide"))
    return "\n".join(made)
