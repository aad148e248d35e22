"""The fields of a row: the parts of its name, and its numbers."""

from fathom_runs.names import CONTEXT, kind, tokens
from fathom_runs.source import RunError


def row_of(path, benchmark, catalogue):
    """The parts of a row's name, and its numbers: medians over repetitions. Raises RunError."""
    values = name_fields(path, benchmark.name) | {"us": benchmark.us, "cpu_us": benchmark.cpu_us}
    values |= {"iterations": benchmark.steps}
    values |= {key: benchmark.median(key) for key in benchmark.counters}
    if kind(benchmark.name) == "inside":
        if not benchmark.label:
            raise RunError(
                f"{path}: {benchmark.name} has no label, expected the class of the op type"
            )
        values["op_class"] = benchmark.label
    else:
        values["label"] = benchmark.label
    if kind(benchmark.name) == "op" and "ranks" not in values:
        values["op_class"] = catalogue.op_classes.get(values["type"], "unknown")
    return values


def expect_names(path, benchmarks):
    """Raises RunError if a part of the name of a step, an op type inside a step, or an op is missing."""
    for one in benchmarks:
        if kind(one.name) != "other":
            name_fields(path, one.name)


def name_fields(path, name):
    """The parts of the name of a step, an op type inside a step, or an op. Raises RunError if one is missing."""
    parts, found = name.split("/"), tokens(name)
    if kind(name) == "op":
        values = dict(zip(("type", "workload", "layer", "pass_"), parts[1:5]))
        keys = ("device", "threads", "precision", "cache", "backend")
    else:
        values = {"workload": parts[0], "mode": parts[1]}
        keys = ("device", "threads", "batch", "precision", "backend")
        if "context" in found:  # beside others, as another workload
            values["workload"] += CONTEXT + found["context"]
        if "op" in found:
            values["type"] = found["op"]
    for key in (*keys, *(["ranks"] if "ranks" in found else [])):
        is_number = key in ("threads", "ranks", "batch")
        if key not in found or is_number and not found[key].isdecimal():
            raise RunError(
                f"{path}: {name} lacks a valid {key!r}, expected a name as in docs/results.md"
            )
        values[key] = int(found[key]) if is_number else found[key]
    return {"name": name, **values}
