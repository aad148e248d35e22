"""Tests that the faults of tests/mutants still fit the sources. Planting them takes too long for a test."""

import sys

from program import ROOT, starts


def test_the_faults_fit_the_sources():
    checked = starts(sys.executable)(ROOT / "tests/mutants/run", "--check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
