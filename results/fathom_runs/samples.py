"""Reads files of --fathom_samples."""

import json

from fathom_runs.source import RunError, is_number, strict_json


def is_samples(text):
    """Whether the first line of the text is a sample."""
    try:
        first = json.loads(text.split("\n", 1)[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "name" in first and "us" in first


def samples(path, text):
    """Yields [name, repetition, step, us] of every line. Raises RunError."""
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
