"""One entry of `benchmarks`: Google Benchmark's fields, and whether the numbers are numbers."""

from fathom_runs.source import RunError, is_number

MICROSECONDS = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}
MEASURED = ("real_time", "cpu_time", "iterations")
# Google Benchmark's own fields. All others are counters.
OWN = {
    *("name", "run_name", "run_type", "family_index", "per_family_instance_index", "threads"),
    *("repetitions", "repetition_index", "aggregate_name", "aggregate_unit", "time_unit"),
    *("label", *MEASURED),
}


def is_measured(entry):
    """False for an entry that failed or was skipped: its times are zero."""
    return not (entry.get("error_occurred") or entry.get("skipped"))


def checked(path, entry):
    """The entry. Throws RunError where a time or a counter is no number, or a label no text."""
    if str(entry.get("time_unit")) not in MICROSECONDS:
        raise wrong(path, entry, "time_unit", f"one of {', '.join(MICROSECONDS)}")
    if not isinstance(entry.get("label", ""), str):
        raise wrong(path, entry, "label", "a text")
    for key in sorted(entry.keys() - OWN | set(MEASURED)):
        value, measured = entry.get(key), key in MEASURED
        if not is_number(value) or measured and value < 0:
            raise wrong(path, entry, key, "a number from 0 on" if measured else "a number")
    return entry


def wrong(path, entry, key, expected):
    found = str(entry.get(key, "missing"))[:40]
    return RunError(f"{path}: {key} of {entry['run_name']} is {found!r}, expected {expected}")
