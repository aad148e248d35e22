"""Tests that the faults of tests/mutants still fit the sources. Planting them takes too long for a test."""

import sys

import pytest

from program import ROOT, starts


def test_the_faults_fit_the_sources():
    pytest.importorskip("tomllib")  # of Python 3.11
    checked = starts(sys.executable)(ROOT / "tests/mutants/run", "--check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
