"""Which op types changed where a step did, and how much of its change each explains."""

from dataclasses import dataclass

import numpy as np
from otava.analysis import TTestSignificanceTester

from fathom_history.changes import MAX_P

LEAST_SHARE = 0.05  # of the step's change, from which on an op type is named
MOST = 3


@dataclass(frozen=True)
class Cause:
    op_type: str
    old_us: float  # means over the watched runs of either level
    new_us: float
    share: float  # of the step's change; below 0 where the type changed the other way
    is_certain: bool


def causes(change, types):
    """The largest first, one that may be noise only where none is certain.

    None where a level has no watched run (--fathom_profile).
    """
    watched = {run for one in types.values() for run in one.known}
    old, new = ([run for run in runs if run in watched] for runs in (change.old, change.new))
    if not old or not new:
        return None
    test = TTestSignificanceTester(MAX_P["step"])
    found = []
    for op_type, one in types.items():
        us = np.nan_to_num(one.us)  # a watched step without the type
        with np.errstate(all="ignore"):  # runs that are all alike
            stats = test.compare(us[old], us[new])
        share = (stats.mean_2 - stats.mean_1) / (change.new_us - change.old_us)
        is_certain = bool(stats.pvalue <= MAX_P["step"])
        found.append(
            Cause(op_type, float(stats.mean_1), float(stats.mean_2), float(share), is_certain)
        )
    found = [cause for cause in found if abs(cause.share) >= LEAST_SHARE]
    found.sort(key=lambda cause: (not cause.is_certain, -abs(cause.share), cause.op_type))
    certain = [cause for cause in found if cause.is_certain]
    return certain[:MOST] or found[:1]
