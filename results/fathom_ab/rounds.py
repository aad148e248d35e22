"""Decides whether a row has enough rounds."""

import itertools

import numpy as np

from fathom_ab.merge import of_rounds
from fathom_gate.rows import field_of, times_of
from fathom_gate.shift import shift
from fathom_gate.verdict import Rule, can_detect
from fathom_runs.benchmarks import Benchmark
from fathom_runs.entries import FASTEST

BLOCK = 3  # consecutive rounds that are compared with each other


def enough(base, new, name, rule=Rule()):
    """Whether the row needs no more rounds. `base` and `new` hold the entries of all runs, one list per run.

    Only the width of the interval decides. Stopping at a visible change would find changes that don't exist.
    """
    rows = [Benchmark(name, of_rounds(runs, name)) for runs in (base, new)]
    field = field_of(rows, FASTEST)  # as the gate reads them by default
    times = (times_of(row, field, row.values("repetition_index")) for row in rows)
    return is_narrow(*times, rule)


def is_narrow(base, new, rule=Rule()):
    """Whether the interval is narrow enough: a change is either significant or small enough for SAME.

    A time below the clock's resolution is NaN; more rounds don't help.
    """
    if np.isnan(base).any() or np.isnan(new).any():
        return True
    return shift(base, new, BLOCK).half_width <= rule.same / 2


def fewest():
    """The smallest number of rounds with which a change can be detected."""
    counts = itertools.count(1)
    return next(n for n in counts if can_detect(np.ones(n), np.ones(n), Rule.alpha, BLOCK))
