"""A report for LLVM's LNT, in the format that `lnt submit` and `lnt import` read."""

import re
from datetime import timezone

from fathom_runs.context import date_of, identity, words
from fathom_runs.source import RunError

# Hardware only: LNT refuses a run if a field of a known machine differs. It knows the CPU as "hardware".
MACHINE = ("num_cpus", "cpu_capability", "gpu", "gpu_memory_bytes")
# Fields of a run. LNT sends all of them to every graph, so the list is short.
RUN = ("fathom_version", "git_commit", "command_line", "host_name", "affinity", "compiler")
RUN += ("compiler_flags", "libtorch", "libtorch_mkl", "libtorch_onednn", "onednn")
RUN += ("cuda_driver", "cuda_runtime", "cublas", "cudnn", "cuda_environment", "gpu_driver")
RUN += ("gpu_persistence", "gpu_mig", "gpu_ecc", "gpu_power_limit_w", "gpu_application_clock_mhz")
RUN += ("openmp", "malloc", "fathom_cuda_graph", "fathom_layout", "fathom_malloc", "fathom_mkl")
RUN += ("seed", "data", "rom")
MAX_NAME = 256  # characters of a name in LNT's tables
SUFFIX = "/process_time/real_time"


def document(context, benchmarks, arguments):
    """All repetitions as samples, in microseconds. LNT ignores changes below 0.01 units, so seconds are too coarse."""
    date = utc(arguments.file, context)
    hardware = str(context.get("cpu") or context.get("host_name") or "unknown")
    run = {"llvm_project_revision": arguments.order or order(context, date)}
    run |= {"start_time": date.isoformat(), "end_time": date.isoformat()}
    return {
        "format_version": "2",
        "machine": {"name": arguments.machine or machine(context, hardware), "hardware": hardware}
        | texts(context, dict.fromkeys((*MACHINE, *identity(context)))),
        "run": run | texts(context, RUN),
        "tests": [test(arguments.file, benchmark) for benchmark in benchmarks],
    }


def test(path, benchmark):
    name = dotted(benchmark.name)
    if len(name) > MAX_NAME:
        raise RunError(f"{path}: {name} has {len(name)} characters, expected at most {MAX_NAME}")
    memory = benchmark.values("memory_peak_bytes")
    made = {"name": name, "execution_time": benchmark.times_us}
    return made | ({"mem_bytes": memory} if memory else {})


def dotted(name):
    """Replaces slashes: LNT shows only the part after the last one. A dotted name still works as --benchmark_filter."""
    return name.removesuffix(SUFFIX).replace("/", ".")


def utc(path, context):
    """Start of the run in UTC, without time zone: LNT drops time zones."""
    date = date_of(path, context)
    try:
        return date.astimezone(timezone.utc).replace(tzinfo=None, microsecond=0)
    except OverflowError as error:
        raise RunError(
            f"{path}: date is {date}, expected one that can be converted to UTC"
        ) from error


def order(context, date):
    """LNT compares the numbers in an order from left to right: time, then digits of the commit."""
    commit, *dirty = str(context.get("git_commit", "")).split("-")
    return "-".join(filter(None, (f"{date:%Y%m%d%H%M%S}", commit[:12], *dirty)))


def machine(context, hardware):
    """Name of the machine, its own or from its hardware: hosts of a CI change their names."""
    if context.get("machine_name"):
        return str(context["machine_name"])
    parts = (hardware, f"{context.get('num_cpus', '')} CPUs", context.get("gpu"))
    return re.sub(r"[^A-Za-z0-9.]+", "-", " ".join(map(str, filter(None, parts)))).strip("-")


def texts(context, keys):
    return {key: words(key, context[key]) for key in keys if key in context}
