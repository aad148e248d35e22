"""Which time of a repetition is exported."""

from dataclasses import replace

from fathom_runs.entries import MEAN, MICROSECONDS


def timed_by(field, benchmark):
    """The benchmark with this time as its `real_time`. A row of which a repetition lacks it keeps the mean."""
    if field == MEAN or not all(entry.get(field, 0) > 0 for entry in benchmark.entries):
        return benchmark
    entries = [
        entry | {MEAN: entry[field] / MICROSECONDS[entry["time_unit"]]}
        for entry in benchmark.entries
    ]
    return replace(benchmark, entries=entries)
