"""Reads the errors file that fathom_bench writes beside a file of --benchmark_out."""

import json

from fathom_runs.beside import ERRORS, beside
from fathom_runs.source import RunError, text_of
from fathom_runs.words import one_line


def errors_of(path):
    return beside(path, ERRORS)


def failures(path):
    """Reasons by name of the failed row. Raises RunError."""
    beside = errors_of(path)
    if not beside.exists():
        return {}
    found = {}
    for number, line in enumerate(text_of(beside).splitlines(), 1):
        try:
            failure = json.loads(line)
            found[str(failure["name"])] = one_line(failure["reason"])
        except (ValueError, KeyError, TypeError) as error:
            raise RunError(
                f'{beside}: line {number} is {line[:40]!r}, expected {{"name": ..., "reason": ...}}'
            ) from error
    return found
