"""Whether a row has had rounds enough for the gate to tell a change of it."""

import numpy as np

from fathom_gate.rows import FASTEST, times_of
from fathom_gate.shift import shift
from fathom_gate.verdict import Rule
from fathom_runs.benchmarks import Benchmark

BLOCK = 3  # rounds that are near enough in time to be compared

# With an interval no wider than this to either side, a change is either told or smaller than what passes for the same.
CLEAR = Rule.same / 2


def enough(base, new, name):
    """Of the entries of all runs of both sides, a list a run.

    Only the width counts: to go on until a change is seen would find one sooner or later.
    """
    return clear(*(np.array(times(side, name)) for side in (base, new)))


def clear(base, new):
    """Of times in order; one below the clock's tick is no time, and more of them tell nothing."""
    return min(*base, *new) <= 0 or shift(base, new, BLOCK).half_width <= CLEAR


def times(runs, name):
    """As the gate takes them unless it is told otherwise."""
    entries = [entry for run in runs for entry in run if entry["run_name"] == name]
    return times_of(Benchmark(name, entries), FASTEST)
