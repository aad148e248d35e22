"""Runs the real compare.py of Google Benchmark, for tests."""

import json
import os
import pathlib
import subprocess

import pytest

COMPARE = pathlib.Path(os.environ.get("FATHOM_COMPARE", "/usr/share/benchmark/compare.py"))

needs_compare_py = pytest.mark.skipif(
    not COMPARE.exists(), reason=f"no {COMPARE}; install libbenchmark-tools"
)


def compare_py(folder, *arguments):
    """What compare.py prints, and the pairs that it found by name."""
    pairs = folder / "pairs.json"
    command = ["/usr/bin/python3", COMPARE, "--no-color", "-d", pairs, *arguments]
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    found = {entry["name"]: entry for entry in json.loads(pairs.read_text())}
    return result.stdout.splitlines(), found
