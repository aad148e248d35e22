"""Files as text and as JSON. Every error is one line."""

import json
import math
import pathlib

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


def is_number(value):
    return type(value) in (int, float) and abs(value) < math.inf


def document(path, text):
    """The context and all entries of a file of --benchmark_out."""
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
    for entry in value["benchmarks"]:
        if not isinstance(entry, dict) or not isinstance(entry.get("run_name"), str):
            raise RunError(
                f"{path}: `benchmarks` holds {str(entry)[:40]!r}, expected rows with names"
            )
    return value["context"], value["benchmarks"]
