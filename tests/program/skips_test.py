"""In CI a skipped test fails, unless tests/skips.txt lists the reason."""

import os
import subprocess
import sys

import pytest
from program import ROOT

# This module is skipped without compare.py.
SKIPPED = "tests/program/compare_test.py"


def run_skipped(environment):
    environment = {name: value for name, value in os.environ.items() if name != "CI"} | environment
    command = [sys.executable, "-m", "pytest", SKIPPED, "-k", "test_benchmarks_pairs_every_row"]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment | {"FATHOM_COMPARE": "/nowhere"},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize(
    "ci, exit_code, outcome", [({}, 0, "1 skipped"), ({"CI": "true"}, 1, "1 error")]
)
def test_a_reason_that_is_not_listed_fails_in_ci_only(ci, exit_code, outcome):
    result = run_skipped(ci)
    assert result.returncode == exit_code and outcome in result.stdout, result.stdout
    assert "no /nowhere; install libbenchmark-tools" in result.stdout
