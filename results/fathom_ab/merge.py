"""Merges the runs of a row into repetitions, as Google Benchmark writes them."""

import statistics

from fathom_runs.entries import STANDARD_FIELDS

# Fields that are not averaged.
NOT_AVERAGED = STANDARD_FIELDS - {"real_time", "cpu_time"}
AGGREGATES = {
    "mean": (statistics.fmean, "time"),
    "median": (statistics.median, "time"),
    "stddev": (statistics.stdev, "time"),
    "cv": (lambda values: statistics.stdev(values) / statistics.fmean(values), "percentage"),
}


def repetitions(runs, family):
    """Merges the entries of all runs of a row (one list per run) and adds aggregates. `family` numbers the rows."""
    merged = []
    for name in dict.fromkeys(entry["run_name"] for run in runs for entry in run):
        found = of_rounds(runs, name)
        common = {"family_index": family, "repetitions": len(runs)}
        merged += [entry | common | {"name": name} for entry in found]
        if len(found) > 1:
            merged += [aggregate(kind, found) | common for kind in AGGREGATES]
    return merged


def of_rounds(runs, name):
    """The entries of a name, numbered by their round. An op type may be missing in a round."""
    return [
        entry | {"repetition_index": number}
        for number, run in enumerate(runs)
        for entry in run
        if entry["run_name"] == name
    ]


def aggregate(kind, found):
    """The aggregate entry `kind` over the numbers that all repetitions have."""
    compute, unit = AGGREGATES[kind]
    first = found[0]
    numbers = [
        key
        for key, value in first.items()
        if key not in NOT_AVERAGED
        and all(isinstance(entry.get(key), (int, float)) for entry in found)
        and not (kind == "cv" and statistics.fmean(entry[key] for entry in found) == 0)
    ]
    made = {key: first[key] for key in NOT_AVERAGED & first.keys() if key != "repetition_index"}
    made |= {
        "name": f"{first['run_name']}_{kind}",
        "run_type": "aggregate",
        "aggregate_name": kind,
        "aggregate_unit": unit,
        "iterations": len(found),
    }
    return made | {key: compute([entry[key] for entry in found]) for key in numbers}
