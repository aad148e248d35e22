"""Reads the files of a run into tables."""

from dataclasses import dataclass, field, replace

import pandas as pd

from fathom_page.palette import MEMORY_COLOURS
from fathom_report.notes import notes
from fathom_runs.benchmarks import read_fathom
from fathom_runs.catalogue import Catalogue
from fathom_runs.context import peaks, same_machine
from fathom_runs.names import kind, tokens
from fathom_runs.samples import is_samples, samples
from fathom_runs.source import RunError, text_of

# Columns in reading order. These columns always exist; unknown values are NaN.
TIMES = ["us", "flops", "flops_pct_peak"]
DETAILS = ["cpu_us", "min_us", "p50_us", "p95_us", "disturbed_steps", "first_step_us", "iterations"]
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
COLUMNS = {"step": STEPS, "inside": OP_TYPES, "op": OPS}  # by kind of row


@dataclass(frozen=True)
class Run:
    """The measured rows. `name` is the full name of a row, as in `samples`."""

    context: dict  # of the first file, with the peaks of all files
    catalogue: Catalogue  # of all files; the last file counts if they differ
    steps: pd.DataFrame  # one row per step; columns are the counters by their JSON names (NaN: unknown)
    op_types: pd.DataFrame  # rows `<step>/op:<type>`
    ops: pd.DataFrame  # op rows
    samples: pd.DataFrame  # lines of --fathom_samples
    notes: tuple[str, ...] = ()  # warnings at the top of the page
    contexts: dict[str, dict] = field(default_factory=dict)  # by path of the file


def read(paths):
    """Reads all files, which must be from one machine. Raises RunError."""
    contexts, catalogue, lines, repeated = {}, Catalogue(), [], 0
    tables = {kind: {} for kind in COLUMNS}
    for path in paths:
        text = text_of(path)
        if is_samples(text):
            lines += samples(path, text)
            continue
        found = read_fathom(path, text)
        for other, context in contexts.items():
            same_machine(path, found.context, other, context)
        contexts[str(path)] = found.context
        catalogue |= found.catalogue
        for one in found.measured:
            if (table := tables.get(kind(one.name))) is not None:
                repeated += one.name in table
                table[one.name] = row_of(path, one, found.catalogue)
    if not contexts:
        raise RunError(
            "found only files of --fathom_samples, expected a JSON file of --benchmark_out, too"
        )
    frames = [frame(tables[kind].values(), columns) for kind, columns in COLUMNS.items()]
    run = Run(
        merged(contexts.values()),
        catalogue,
        *frames,
        pd.DataFrame(lines, columns=SAMPLES),
        contexts=contexts,
    )
    return replace(run, notes=tuple(notes(run, repeated)))


def merged(contexts):
    """The context of the first file, with peaks that only other files have."""
    first, *others = contexts
    found = {}
    for one in others:
        found |= peaks(one)
    return found | first


def row_of(path, benchmark, catalogue):
    """The parts of a row's name, and its numbers: medians over repetitions. Raises RunError."""
    try:
        values = name_fields(benchmark.name)
    except (KeyError, ValueError) as error:
        raise RunError(
            f"{path}: {benchmark.name} lacks a valid {error}, expected a name as in docs/results.md"
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


def name_fields(name):
    """The parts of the name of a step, an op type inside a step, or an op."""
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
    """A table with these columns first, then all other fields. An unknown label is empty."""
    table = pd.DataFrame(list(rows))
    table = table.reindex(columns=[*columns, *(c for c in table.columns if c not in columns)])
    for column in ("label", "op_class"):
        if column in table:
            table[column] = table[column].fillna("").astype(str)
    return table
