"""Reads text and JSON, also from gzip files. Every error is one line."""

import codecs
import gzip
import json
import math
import os
import pathlib
import re
import sys
import zlib

EXPECTED = (
    "expected the JSON of --benchmark_out, which ./fathom_bench --benchmark_out=run.json writes"
)
SCHEMA = 1  # the newest major version of the format that these programs read (docs/results.md)
GZIP = ".gz"
GZIP_START = b"\x1f\x8b"  # RFC 1952
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # PowerShell redirects to such files
# What programs write for numbers that JSON cannot hold.
CONSTANTS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class RunError(Exception):
    """An error of the input. Its message is one line: path, what was found, what was expected."""


def text_of(path):
    """The text of a file without its byte order mark. Raises RunError.

    Unpacks gzip files; any name may be one of them, a name with `.gz` must.
    """
    try:
        with open(path, "rb") as file:
            is_packed = is_gzip(path) or file.peek(2).startswith(GZIP_START)
            data = (gzip.open(file) if is_packed else file).read()
        return data.decode("utf-16" if data.startswith(UTF16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise RunError(
            f"{path}: byte {error.start} is not {error.encoding.upper()}, expected JSON"
        ) from error
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
    """Returns the context and all entries of a file of --benchmark_out. Raises RunError.

    Numbers may be NaN or infinite: Google Benchmark writes the cv of a counter that is always 0 as NaN.
    """
    try:
        value = json.loads(text, parse_constant=CONSTANTS.get)
    except RecursionError as error:
        raise RunError(f"{path}: nested too deeply, {EXPECTED}") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} (byte {len(text[: error.pos].encode())})"
        # json reports an unterminated string at its start.
        truncated = not text[error.pos :].strip() or error.msg.startswith("Unterminated")
        what = "is truncated" if truncated else "is not JSON"
        start = error.pos - (error.colno - 1 if error.colno <= 40 else 0)  # of its line
        found = text[start:].split("\n", 1)[0][:40]
        found = f", found {found!r}" if found and not truncated else ""
        raise RunError(f"{path}: {what} at {place}{found}, {EXPECTED}") from error
    except ValueError as error:  # a number with thousands of digits
        raise RunError(f"{path}: {error}, {EXPECTED}") from error
    if not isinstance(value, dict):
        raise RunError(f"{path}: a {type(value).__name__} at the top, {EXPECTED}")
    for key, kind in (("context", dict), ("benchmarks", list)):
        if not isinstance(value.get(key), kind):
            raise RunError(f"{path}: no `{key}`, {EXPECTED}")
    for entry in value["benchmarks"]:
        if not isinstance(entry, dict) or not isinstance(entry.get("run_name"), str):
            if isinstance(entry, dict) and isinstance(entry.get("name"), str):
                raise RunError(
                    f"{path}: row {entry['name'][:40]!r} has no run_name, as of Google Benchmark 1.4 and older; "
                    "expected a file of 1.5 or newer"
                )
            raise RunError(
                f"{path}: `benchmarks` holds {str(entry)[:40]!r}, expected rows with names"
            )
    expect_known_schema(path, value["context"])
    return value["context"], value["benchmarks"]


def expect_known_schema(path, context):
    """Raises RunError for a later major version: a field may have another meaning there."""
    found = str(context.get("fathom_schema", 0))[:40]  # older files have none
    major = re.match(r"\d+", found)
    if not major or int(major[0]) > SCHEMA:
        raise RunError(
            f"{path}: fathom_schema is {found!r}, expected at most {SCHEMA}.x; use the programs of results/ of a newer "
            "fathom_bench"
        )
