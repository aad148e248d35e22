"""The rows of a run's files as tables."""

from dataclasses import dataclass, field, replace

import pandas as pd

from fathom_page.palette import MEMORY_COLOURS
from fathom_runs.benchmarks import read_ours
from fathom_runs.catalogue import KEYS, Catalogue
from fathom_runs.context import is_peak, peaks, same_machine
from fathom_runs.names import kind, tokens
from fathom_runs.samples import is_samples, samples
from fathom_runs.source import RunError, text_of

# What may differ between files of one machine without a note: it says when and how, not what was measured.
OWN = ("date", "executable", "command_line", "load_avg", "mhz_per_cpu", "data", "rom", "seed")
OWN += ("machine_others", "machine_steal", "machine_gpu_clock", "ab_id", *KEYS)

# Columns in the order in which they are read, the known ones always there; unknown values are NaN.
TIMES = ["us", "flops", "flops_pct_peak"]
DETAILS = ["cpu_us", "min_us", "p50_us", "p95_us", "first_step_us", "iterations"]
DETAILS += ["steps_per_sample", "gpu_time_us", "peak_memory_bytes", "label"]
STEP = ["name", "workload", "mode", "device", "threads", "batch", "precision", "backend"]
STEPS = [
    *STEP,
    *TIMES,
    *("items_per_second", "forward_us", "backward_us", "update_us", "gpu_busy_pct"),
    *DETAILS,
    *("flops_per_step", "params", "skipped_items", "memory_peak_bytes"),
    *(f"memory_{one}_bytes" for one in MEMORY_COLOURS),
    *(f"memory_{one}_at_peak_bytes" for one in MEMORY_COLOURS),
]
OP_TYPES = [*STEP, "type", "op_class", "us", "pct_of_step", "calls_per_step", "cpu_us"]
OPS = [
    *("name", "type", "op_class", "workload", "layer", "pass_"),
    *("device", "threads", "precision", "cache", "backend"),
    *TIMES,
    *("bytes", "bytes_pct_peak", "in_steps", "calls_per_model_step", "calls_per_inference"),
    *DETAILS,
    *("create_us", "create_cached_us", "reorder_us", "workspace_bytes"),
]
SAMPLES = ["name", "repetition", "step", "us"]
COLUMNS = {"step": STEPS, "inside": OP_TYPES, "op": OPS}  # by the kind of a row


@dataclass(frozen=True)
class Run:
    """The measured rows; `name` is a row's whole name, as in `samples`."""

    context: dict  # the first file's, with the peaks of all
    catalogue: Catalogue  # of all files; where they differ, the last one's
    steps: pd.DataFrame  # a model row each, and every counter by its JSON name (NaN: unknown)
    op_types: pd.DataFrame  # rows `<model row>/op:<type>`
    ops: pd.DataFrame  # op rows
    samples: pd.DataFrame  # lines of --fathom_samples
    notes: tuple[str, ...] = ()  # what a reader of merged files should know
    contexts: dict[str, dict] = field(default_factory=dict)  # of every file, by its path


def read(paths):
    """The rows of all files, which must come from one machine."""
    contexts, catalogue, lines, again = {}, Catalogue(), [], 0
    tables = {kind: {} for kind in COLUMNS}
    for path in paths:
        text = text_of(path)
        if is_samples(text):
            lines += samples(path, text)
            continue
        found = read_ours(path, text)
        for other, context in contexts.items():
            same_machine(path, found.context, other, context)
        contexts[str(path)] = found.context
        catalogue |= found.catalogue
        for one in found.measured:
            if (table := tables.get(kind(one.name))) is not None:
                again += one.name in table
                table[one.name] = row_of(path, one, found.catalogue)
    if not contexts:
        raise RunError(
            "only files of --fathom_samples, expected a JSON file of --benchmark_out, too"
        )
    frames = [frame(tables[kind].values(), columns) for kind, columns in COLUMNS.items()]
    run = Run(
        merged(contexts.values()),
        catalogue,
        *frames,
        pd.DataFrame(lines, columns=SAMPLES),
        contexts=contexts,
    )
    return replace(run, notes=tuple(notes(run, again)))


def merged(contexts):
    """The first file's context with the peaks that only others have."""
    first, *others = contexts
    found = {}
    for one in others:
        found |= peaks(one)
    return found | first


def row_of(path, benchmark, catalogue):
    """What a row's name says and its numbers, each the median of the repetitions."""
    try:
        values = named(benchmark.name)
    except (KeyError, ValueError) as error:
        raise RunError(
            f"{path}: {benchmark.name} lacks a usable {error}, expected a name as in the README (Names)"
        ) from error
    values |= {"us": benchmark.us, "cpu_us": benchmark.cpu_us}
    values |= {key: benchmark.median(key) for key in ("iterations", *benchmark.counters)}
    if kind(benchmark.name) == "inside":
        if not benchmark.label:
            raise RunError(
                f"{path}: {benchmark.name} has no label, expected the class of the op type"
            )
        values["op_class"] = benchmark.label
    else:
        values["label"] = benchmark.label
    if kind(benchmark.name) == "op":
        values["op_class"] = catalogue.op_classes.get(values["type"], "unknown")
    return values


def named(name):
    """What the name of a step, an op type inside it or an op alone says."""
    parts, found = name.split("/"), tokens(name)
    if kind(name) == "op":
        values = dict(zip(("type", "workload", "layer", "pass_"), parts[1:5]))
        keys = ("device", "threads", "precision", "cache", "backend")
    else:
        values = {"workload": parts[0], "mode": parts[1]}
        keys = ("device", "threads", "batch", "precision", "backend")
        if "op" in found:
            values["type"] = found["op"]
    for key in keys:
        values[key] = int(found[key]) if key in ("threads", "batch") else found[key]
    return {"name": name, **values}


def frame(rows, columns):
    """A table of these columns, then the rows' other fields. An unknown label is empty."""
    table = pd.DataFrame(list(rows))
    table = table.reindex(columns=[*columns, *(c for c in table.columns if c not in columns)])
    for column in ("label", "op_class"):
        if column in table:
            table[column] = table[column].fillna("").astype(str)
    return table


def notes(run, again):
    """What a reader should know of how the files fit together."""
    if again:
        rows = "1 row is" if again == 1 else f"{again} rows are"
        yield f"{rows} in several files; the last file's value is shown."
    first, *others = run.contexts.values()
    for key, value in first.items():
        if key in OWN or is_peak(key) or not isinstance(value, str):
            continue
        values = dict.fromkeys([value, *(str(other.get(key, "none")) for other in others)])
        if len(values) > 1:
            yield f"The files differ in {key}: {', '.join(values)}."
    unknown = set(run.samples.name) - {*run.steps.name, *run.op_types.name, *run.ops.name}
    if unknown:
        yield f"{len(unknown)} of the samples' names have no row, for example {min(unknown)}."
