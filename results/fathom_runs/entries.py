"""Checks an entry of `benchmarks` and separates Google Benchmark's fields from counters."""

import json

from fathom_runs.source import RunError, is_number
from fathom_runs.words import one_line

FASTEST = "min_us"  # fastest sample of a repetition; interference only slows a sample
MEAN = "real_time"  # every row has it
TIMES = (FASTEST, "p50_us", MEAN)  # of a repetition
MICROSECONDS = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}
MEASURED = (MEAN, "cpu_time", "iterations")
# Fields of Google Benchmark. All other fields are counters.
STANDARD_FIELDS = {
    *("name", "run_name", "run_type", "family_index", "per_family_instance_index", "threads"),
    *("repetitions", "repetition_index", "aggregate_name", "aggregate_unit", "time_unit"),
    *("label", *MEASURED),
}


def is_measured(entry):
    """False for an entry that failed or was skipped. Its times are zero."""
    return not (entry.get("error_occurred") or entry.get("skipped"))


def reason_of(entry):
    """Why an entry failed or was skipped, as far as the program said it, on one line."""
    return one_line(entry.get("error_message") or entry.get("skip_message") or "")


def checked(path, entry):
    """Returns the entry. Raises RunError if its time is not a number or the label is not a string.

    Other numbers are checked where they are used (`number`).
    """
    if str(entry.get("time_unit")) not in MICROSECONDS:
        raise wrong(path, entry, "time_unit", f"one of {', '.join(MICROSECONDS)}")
    if not isinstance(entry.get("label", ""), str):
        raise wrong(path, entry, "label", "a string")
    number(path, entry, MEAN)
    return entry


def number(path, entry, key):
    """The number in a field of the entry. Raises RunError if there is none."""
    value = entry.get(key)
    if not is_number(value) or key in MEASURED and value < 0:
        expected = "a number of at least 0" if key in MEASURED else "a number"
        raise wrong(path, entry, key, expected)
    return value


def wrong(path, entry, key, expected):
    value = entry.get(key, "missing")
    found = str(json.dumps(value) if isinstance(value, float) else value)[:40]  # NaN as in JSON
    place = f"{path}: " if path else ""
    name = one_line(entry["run_name"])
    return RunError(f"{place}{key} of {name} is {found!r}, expected {expected}")
