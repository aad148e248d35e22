"""Checks an entry of `benchmarks` and separates Google Benchmark's fields from counters."""

from fathom_runs.source import RunError, is_number

MICROSECONDS = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}
MEASURED = ("real_time", "cpu_time", "iterations")
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
    """Why an entry failed or was skipped, as far as the program said it."""
    return str(entry.get("error_message") or entry.get("skip_message") or "")


def checked(path, entry):
    """Returns the entry. Raises RunError if a time or counter is not a number or the label is not a string."""
    if str(entry.get("time_unit")) not in MICROSECONDS:
        raise wrong(path, entry, "time_unit", f"one of {', '.join(MICROSECONDS)}")
    if not isinstance(entry.get("label", ""), str):
        raise wrong(path, entry, "label", "a string")
    for key in sorted(entry.keys() - STANDARD_FIELDS | set(MEASURED)):
        value, measured = entry.get(key), key in MEASURED
        if not is_number(value) or measured and value < 0:
            raise wrong(path, entry, key, "a number of at least 0" if measured else "a number")
    return entry


def wrong(path, entry, key, expected):
    found = str(entry.get(key, "missing"))[:40]
    return RunError(f"{path}: {key} of {entry['run_name']} is {found!r}, expected {expected}")
