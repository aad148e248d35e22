"""Reads files: documents of --benchmark_out and lines of --fathom_samples. Whatever they hold, an error is one line."""

import json
import math
import pathlib

# Fields of Google Benchmark's that are no counters; some come back under a name of ours.
NO_COUNTERS = {
    *("name", "run_name", "run_type", "family_index", "per_family_instance_index", "threads"),
    *("repetitions", "repetition_index", "aggregate_name", "aggregate_unit", "time_unit"),
    *("real_time", "cpu_time"),
}
EXPECTED = "expected the JSON of --benchmark_out"


class RunError(Exception):
    """One line for the user: path, what was found, what was expected."""


def text_of(path):
    try:
        return pathlib.Path(path).read_bytes().decode()
    except UnicodeDecodeError as error:
        raise RunError(f"{path}: byte {error.start} is not UTF-8, expected JSON") from error
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}, expected a JSON file to read") from error


def strict_json(text):
    """Without NaN and Infinity, which are no JSON."""

    def refuse(word):
        raise json.JSONDecodeError(f"{word} is no value", text, text.find(word))

    return json.loads(text, parse_constant=refuse)


def is_samples(text):
    """Whether the first line alone is a sample."""
    try:
        first = json.loads(text.split("\n", 1)[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "name" in first and "us" in first


def samples(path, text):
    """[name, repetition, step, us] of every line."""
    for number, line in enumerate(text.splitlines(), 1):
        try:
            value = strict_json(line)
            name, repetition, step, us = (
                value[key] for key in ("name", "repetition", "step", "us")
            )
            if not isinstance(name, str) or not is_number(us):
                raise ValueError(line)
            yield [name, int(repetition), int(step), float(us)]
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
            raise RunError(
                f'{path}: line {number} is {line[:40]!r}, expected {{"name": ..., '
                '"repetition": ..., "step": ..., "us": ...}'
            ) from error


def document(path, text):
    """The context and all rows of a file."""
    try:
        value = strict_json(text)
    except RecursionError as error:
        raise RunError(f"{path}: nested too deeply, {EXPECTED}") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} (byte {len(text[: error.pos].encode())})"
        # A string that is cut off is reported where it starts.
        cut = not text[error.pos :].strip() or error.msg.startswith("Unterminated")
        what = "is cut off" if cut else "is not JSON"
        raise RunError(f"{path}: {what} at {place}, {EXPECTED}") from error
    except ValueError as error:  # a number of thousands of digits
        raise RunError(f"{path}: {error}, {EXPECTED}") from error
    if not isinstance(value, dict):
        raise RunError(f"{path}: a {type(value).__name__} at the top, {EXPECTED}")
    for key, kind in (("context", dict), ("benchmarks", list)):
        if not isinstance(value.get(key), kind):
            raise RunError(f"{path}: no `{key}`, {EXPECTED}")
    for row in value["benchmarks"]:
        if not isinstance(row, dict) or not isinstance(row.get("run_name"), str):
            raise RunError(
                f"{path}: `benchmarks` holds {str(row)[:40]!r}, expected rows with names"
            )
    return value["context"], value["benchmarks"]


def is_measured(row):
    """Whether a row is its benchmark's result: with repetitions, the median."""
    if row.get("error_occurred"):
        return False
    if row.get("run_type") == "aggregate":
        return row.get("aggregate_name") == "median"
    return row.get("repetitions", 1) in (0, 1)


def is_number(value):
    return type(value) in (int, float) and abs(value) < math.inf


def counters(path, row):
    """All fields but Google Benchmark's own: numbers, and the label."""
    found = {"us": row.get("real_time"), "cpu_us": row.get("cpu_time")}
    found |= {key: value for key, value in row.items() if key not in NO_COUNTERS}
    for key, value in found.items():
        wanted = "a text" if key == "label" else "a number"
        if key == "us":
            wanted = "a positive number"
        is_wanted = isinstance(value, str) if key == "label" else is_number(value)
        if not is_wanted or key == "us" and value <= 0:
            name = {"us": "real_time", "cpu_us": "cpu_time"}.get(key, key)
            raise RunError(
                f"{path}: {name} of {row['run_name']} is {str(value)[:40]!r}, expected {wanted}"
            )
    return found
