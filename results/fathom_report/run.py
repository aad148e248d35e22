"""The measured rows as tables."""

from dataclasses import dataclass, field, replace

import pandas as pd

from fathom_runs.names import tokens
from fathom_runs.source import RunError, counters, document, is_measured, is_samples, samples
from fathom_runs.source import text_of

MACHINE = ("host_name", "cpu", "gpu")
# What may differ between files of one machine without a note: it says when and how, not what was measured.
OWN = ("date", "executable", "command_line", "load_avg", "mhz_per_cpu", "data", "rom", "seed")
OWN += ("machine_others", "machine_steal", "machine_gpu_clock", "ab_id")

MEMORY_CLASSES = (
    "weights",
    "gradients",
    "optimizer",
    "features",
    "inputs",
    "temporaries",
    "workspace",
)
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
    *(f"memory_{kind}_bytes" for kind in MEMORY_CLASSES),
    *(f"memory_{kind}_at_peak_bytes" for kind in MEMORY_CLASSES),
]
OP_TYPES = [*STEP, "type", "op_class", "us", "pct_of_step", "calls_per_step", "cpu_us"]
OPS = [
    *("name", "type", "workload", "layer", "pass_"),
    *("device", "threads", "precision", "cache", "backend"),
    *TIMES,
    *("bytes", "bytes_pct_peak", "in_steps", "calls_per_model_step", "calls_per_inference"),
    *DETAILS,
    *("create_us", "create_cached_us", "reorder_us", "workspace_bytes"),
]
SAMPLES = ["name", "repetition", "step", "us"]


@dataclass(frozen=True)
class Run:
    """The measured rows; `name` is a row's whole name, as in `samples`."""

    context: dict  # the first file's, with the peaks of all
    steps: pd.DataFrame  # a model row each, and every counter by its JSON name (NaN: unknown)
    op_types: pd.DataFrame  # rows `<model row>/op:<type>`
    ops: pd.DataFrame  # op rows
    samples: pd.DataFrame  # lines of --fathom_samples
    notes: tuple[str, ...] = ()  # what a reader of merged files should know
    contexts: dict[str, dict] = field(default_factory=dict)  # of every file, by its path


def read(paths):
    """The rows of all files, which must come from one machine."""
    contexts, lines, again = {}, [], 0
    tables = {"steps": {}, "op_types": {}, "ops": {}}
    for path in paths:
        text = text_of(path)
        if is_samples(text):
            lines += samples(path, text)
            continue
        context, rows = document(path, text)
        same_machine(path, context, contexts)
        contexts[str(path)] = context
        measured = [row for row in rows if is_measured(row)]
        for name, found in sorted_rows(path, measured).items():
            again += len(tables[name].keys() & found.keys())
            tables[name].update(found)
    if not contexts:
        raise RunError(
            "only files of --fathom_samples, expected a JSON file of --benchmark_out, too"
        )
    run = Run(
        merged(contexts.values()),
        frame(tables["steps"], STEPS),
        frame(tables["op_types"], OP_TYPES),
        frame(tables["ops"], OPS),
        pd.DataFrame(lines, columns=SAMPLES),
        contexts=contexts,
    )
    return replace(run, notes=tuple(notes(run, again)))


def same_machine(path, context, contexts):
    for other, before in contexts.items():
        for key in MACHINE:
            if context.get(key) != before.get(key):
                raise RunError(
                    f"{path}: {key} is {context.get(key, 'none')}, in {other} it is "
                    f"{before.get(key, 'none')}; expected files of one machine"
                )


def merged(contexts):
    """The first file's context with the peaks that only others have."""
    first, *others = contexts
    peaks = {key: value for one in others for key, value in one.items() if key.startswith("peak_")}
    return peaks | first


def sorted_rows(path, rows):
    """The rows by table and name."""
    tables = {"steps": {}, "op_types": {}, "ops": {}}
    for row in rows:
        name = row["run_name"]
        try:
            table, values = named(name)
        except (KeyError, ValueError) as error:
            raise RunError(
                f"{path}: {name} lacks a usable {error}, expected a name as in the README (Names)"
            ) from error
        if not table or table == "op_types" and row.get("real_time") == 0:  # below the clock's tick
            continue
        values |= counters(path, row)
        if table == "op_types":
            if not values.get("label"):
                raise RunError(f"{path}: {name} has no label, expected the class of the op type")
            values["op_class"] = values.pop("label")
        tables[table][name] = values
    fixtures = any(row["run_name"].startswith("fixture/") for row in rows)
    if not fixtures and not any(tables.values()):
        raise RunError(
            f"{path}: none of its {len(rows)} rows is a workload's or an op's, expected names as "
            "vgg/train/device:cpu/... (README, Names)"
        )
    return tables


def named(name):
    """The table that a row of this name belongs to, and what the name says of it."""
    parts, found = name.split("/"), tokens(name)
    if parts[0] == "op" and len(parts) > 5:
        table, values = "ops", dict(zip(("type", "workload", "layer", "pass_"), parts[1:5]))
        keys = ("device", "threads", "precision", "cache", "backend")
    elif len(parts) > 2 and parts[1] in ("train", "infer") and "device" in found:
        table, values = "steps", {"workload": parts[0], "mode": parts[1]}
        keys = ("device", "threads", "batch", "precision", "backend")
        if "op" in found:
            table, values["type"] = "op_types", found["op"]
    else:
        return None, None
    for key in keys:
        values[key] = int(found[key]) if key in ("threads", "batch") else found[key]
    return table, {"name": name, **values}


def frame(rows, columns):
    """A table of these columns, then of whatever else the rows have; an unknown label is empty."""
    table = pd.DataFrame(list(rows.values()))
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
        if key in OWN or key.startswith("peak_") or not isinstance(value, str):
            continue
        values = dict.fromkeys([value, *(str(other.get(key, "none")) for other in others)])
        if len(values) > 1:
            yield f"The files differ in {key}: {', '.join(values)}."
    unknown = set(run.samples.name) - {*run.steps.name, *run.op_types.name, *run.ops.name}
    if unknown:
        yield f"{len(unknown)} of the samples' names have no row, for example {min(unknown)}."
