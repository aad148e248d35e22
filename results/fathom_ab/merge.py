"""Runs of one row as Google Benchmark's repetitions."""

import statistics

from fathom_runs.entries import OWN

# Fields without statistics: of every repetition alike, or its own.
SAME = OWN - {"real_time", "cpu_time"}
AGGREGATES = {
    "mean": (statistics.fmean, "time"),
    "median": (statistics.median, "time"),
    "stddev": (statistics.stdev, "time"),
    "cv": (lambda values: statistics.stdev(values) / statistics.fmean(values), "percentage"),
}


def repetitions(runs, family):
    """Entries of all runs of a row, a list each, with their aggregates; `family` numbers the row."""
    merged = []
    for name in dict.fromkeys(entry["run_name"] for run in runs for entry in run):
        found = [entry for run in runs for entry in run if entry["run_name"] == name]
        place = {"family_index": family, "repetitions": len(found)}
        merged += [
            entry | place | {"name": name, "repetition_index": index}
            for index, entry in enumerate(found)
        ]
        if len(found) > 1:
            merged += [aggregate(kind, found) | place for kind in AGGREGATES]
    return merged


def aggregate(kind, found):
    """The entry of a statistic over numbers that all repetitions have."""
    compute, unit = AGGREGATES[kind]
    first = found[0]
    numbers = [
        key
        for key, value in first.items()
        if key not in SAME
        and all(isinstance(entry.get(key), (int, float)) for entry in found)
        and not (kind == "cv" and statistics.fmean(entry[key] for entry in found) == 0)
    ]
    made = {key: first[key] for key in SAME & first.keys() if key != "repetition_index"}
    made |= {
        "name": f"{first['run_name']}_{kind}",
        "run_type": "aggregate",
        "aggregate_name": kind,
        "aggregate_unit": unit,
        "iterations": len(found),
    }
    return made | {key: compute([entry[key] for entry in found]) for key in numbers}
