"""What the tests import: the helpers of tests/ and tests/results/, the packages of results/."""

import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parent
sys.path[:0] = map(str, (TESTS, TESTS / "results", TESTS.parent / "results"))
