"""Reads text and JSON, also from gzip files. Every error is one line."""

import gzip
import json
import os
import pathlib
import sys
import zlib

EXPECTED = "expected the JSON of --benchmark_out"
GZIP = ".gz"
GZIP_START = b"\x1f\x8b"  # RFC 1952


class RunError(Exception):
    """An error of the input. Its message is one line: path, what was found, what was expected."""


def text_of(path):
    """The text of a file. Unpacks gzip files; any name may be one of them, a name with `.gz` must. Raises RunError."""
    try:
        with open(path, "rb") as file:
            is_packed = is_gzip(path) or file.peek(2).startswith(GZIP_START)
            return (gzip.open(file) if is_packed else file).read().decode()
    except UnicodeDecodeError as error:
        raise RunError(f"{path}: byte {error.start} is not UTF-8, expected JSON") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise RunError(f"{path}: is broken ({error}), expected a complete gzip file") from error
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}, expected a readable JSON file") from error


def shown(path):
    """The name of a file as valid text."""
    return os.fsencode(path).decode(errors="replace")


def is_gzip(path):
    """Whether the name is one of a gzip file."""
    return pathlib.Path(path).suffix == GZIP


def unpacked(path):
    """The path without `.gz`."""
    return path.with_suffix("") if is_gzip(path) else path


def strict_json(text):
    """Parses JSON. Python's parser also accepts NaN and Infinity, which are not JSON."""

    def refuse(word):
        raise json.JSONDecodeError(f"{word} is not a JSON value", text, text.find(word))

    return json.loads(text, parse_constant=refuse)


def is_number(value):
    """Whether the value is a number that a float can hold. A bool is not a number."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def document(path, text):
    """Returns the context and all entries of a file of --benchmark_out. Raises RunError."""
    try:
        value = strict_json(text)
    except RecursionError as error:
        raise RunError(f"{path}: nested too deeply, {EXPECTED}") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} (byte {len(text[: error.pos].encode())})"
        # json reports an unterminated string at its start.
        truncated = not text[error.pos :].strip() or error.msg.startswith("Unterminated")
        what = "is truncated" if truncated else "is not JSON"
        raise RunError(f"{path}: {what} at {place}, {EXPECTED}") from error
    except ValueError as error:  # a number with thousands of digits
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
