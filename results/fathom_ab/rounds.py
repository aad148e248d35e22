"""Decides whether a row has enough rounds."""

import numpy as np

from fathom_gate.rows import FASTEST, times_of
from fathom_gate.shift import shift
from fathom_gate.verdict import Rule
from fathom_runs.benchmarks import Benchmark

BLOCK = 3  # consecutive rounds that are compared with each other

# Half width of the interval. With it, a change is either significant or small enough for SAME.
ENOUGH_WIDTH = Rule.same / 2


def enough(base, new, name):
    """Whether the row needs no more rounds. `base` and `new` hold the entries of all runs, one list per run.

    Only the width of the interval decides. Stopping at a visible change would find changes that don't exist.
    """
    return is_narrow(*(np.array(times(side, name)) for side in (base, new)))


def is_narrow(base, new):
    """Whether the interval is narrow enough. A time of 0 is below the clock's resolution; more rounds don't help."""
    return min(*base, *new) <= 0 or shift(base, new, BLOCK).half_width <= ENOUGH_WIDTH


def times(runs, name):
    """Times of a row, as the gate reads them by default."""
    entries = [entry for run in runs for entry in run if entry["run_name"] == name]
    return times_of(Benchmark(name, entries), FASTEST)
