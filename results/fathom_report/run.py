"""Reads the files of a run into tables."""

from dataclasses import dataclass, field, replace

import pandas as pd

from fathom_page.palette import MEMORY_COLOURS
from fathom_report.notes import notes
from fathom_runs.benchmarks import read_fathom
from fathom_runs.catalogue import Catalogue
from fathom_runs.context import peaks, same_machine
from fathom_runs.failures import failures
from fathom_runs.labels import file_labels
from fathom_runs.names import kind, tokens
from fathom_runs.rows import row_of
from fathom_runs.samples import is_samples, samples
from fathom_runs.source import RunError, text_of

# Columns in reading order. These columns always exist; unknown values are NaN.
TIMES = ["us", "flops", "flops_pct_peak"]
DETAILS = [
    "cpu_us",
    "min_us",
    "p50_us",
    "p95_us",
    "disturbed",
    "disturbed_steps",
    "first_step_us",
    "iterations",
]
DETAILS += ["steps_per_sample", "gpu_time_us", "peak_memory_bytes", "label"]
STEP = ["name", "workload", "mode", "device", "threads", "batch", "precision", "backend"]
STEPS = [
    *STEP,
    *TIMES,
    *("bytes", "bytes_pct_peak", "distance_to_fp32"),
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
    *(
        "bytes",
        "bytes_pct_peak",
        "quantization_error",
        "in_steps",
        "calls_per_model_step",
        "calls_per_inference",
    ),
    *DETAILS,
    *("create_us", "create_cached_us", "reorder_us", "workspace_bytes"),
]
RANK_STEPS = [
    *("name", "file", "workload", "mode", "device", "threads", "ranks"),
    *("batch", "precision", "backend", *TIMES, "items_per_second", "scaling_pct"),
    *("local_step_us", "exposed_us", "comm_us", "overlapped_us", "gradient_bytes", "buckets"),
    *("slowest_rank", "slowest_rank_pct", *DETAILS, "flops_per_step", "params"),
]
RANK_OPS = [
    *("name", "file", "type", "workload", "layer", "pass_", "device", "threads", "ranks"),
    *("precision", "cache", "backend", "us", "algbw", "busbw", *DETAILS),
]
SAMPLES = ["name", "repetition", "step", "us"]
# By kind of row. Rows with ranks have their own tables, so no figure mixes them with rows of one process.
COLUMNS = {"step": STEPS, "inside": OP_TYPES, "op": OPS}
COLUMNS |= {"ranks step": RANK_STEPS, "ranks op": RANK_OPS}


@dataclass(frozen=True)
class Run:
    """The measured rows. `name` is the full name of a row, as in `samples`."""

    context: dict  # of the first file, with the peaks of all files
    catalogue: Catalogue  # of all files; the last file counts if they differ
    steps: pd.DataFrame  # one row per step; columns are the counters by their JSON names (NaN: unknown)
    op_types: pd.DataFrame  # rows `<step>/op:<type>`
    ops: pd.DataFrame  # op rows
    rank_steps: pd.DataFrame  # steps with ranks, one row per file: a file may be of another network
    rank_ops: pd.DataFrame  # op rows with ranks, likewise
    samples: pd.DataFrame  # lines of --fathom_samples
    notes: tuple[str, ...] = ()  # warnings at the top of the page
    contexts: dict[str, dict] = field(default_factory=dict)  # by path of the file


def read(paths):
    """Reads all files, which must be from one machine. Raises RunError."""
    contexts, catalogue, lines, repeated, failed = {}, Catalogue(), [], 0, {}
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
        failed |= failures(path)
        catalogue |= found.catalogue
        for one in found.measured:
            of_file = {"file": str(path)} if "ranks" in tokens(one.name) else {}
            table = tables.get("ranks " * bool(of_file) + kind(one.name))
            if table is not None:
                key = (one.name, *of_file.values())
                repeated += key in table
                known = {"disturbed": one.is_disturbed}
                table[key] = row_of(path, one, found.catalogue) | known | of_file
    if not contexts:
        raise RunError(
            "found only files of --fathom_samples, expected a JSON file of --benchmark_out, too; "
            "./fathom_bench --fathom_study=fathom --benchmark_out=study.json makes both"
        )
    frames = [frame(tables[kind].values(), columns) for kind, columns in COLUMNS.items()]
    labels = file_labels(contexts)
    for table in frames:
        if "file" in table:
            table["file"] = table.file.map(labels)
    run = Run(
        merged(contexts.values()),
        catalogue,
        *frames,
        pd.DataFrame(lines, columns=SAMPLES),
        contexts=contexts,
    )
    measured = {name for table in tables.values() for name, *_ in table}
    failed = {name: why for name, why in failed.items() if name not in measured}
    return replace(run, notes=tuple(notes(run, repeated, failed)))


def merged(contexts):
    """The context of the first file, with peaks that only other files have."""
    first, *others = contexts
    found = {}
    for one in others:
        found |= peaks(one)
    return found | first


def frame(rows, columns):
    """A table with these columns first, then all other fields. An unknown label is empty."""
    table = pd.DataFrame(list(rows))
    table = table.reindex(columns=[*columns, *(c for c in table.columns if c not in columns)])
    for column in ("label", "op_class"):
        if column in table:
            table[column] = table[column].fillna("").astype(str)
    return table
