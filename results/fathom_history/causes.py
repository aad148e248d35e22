"""Op types that explain the change of a step, each with its share of the change."""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.stats import ttest_ind

MAX_P = 0.001
MIN_SHARE = 0.05  # of the step's change; smaller causes are not listed
MAX_CAUSES = 3


@dataclass(frozen=True)
class Cause:
    op_type: str
    old_us: float  # means over the profiled runs of each level
    new_us: float
    share: float  # of the step's change; negative if the op type changed in the other direction
    is_certain: bool


def causes(change, types):
    """The causes, largest first. If no cause is certain, the largest uncertain one.

    Returns None if a level has no profiled run (--fathom_profile).
    """
    profiled = {run for one in types.values() for run in one.known}
    old, new = ([run for run in runs if run in profiled] for runs in (change.old, change.new))
    if not old or not new:
        return None
    found = []
    for op_type, one in types.items():
        us = np.nan_to_num(one.us)  # 0 in a profiled step without the op type
        with np.errstate(all="ignore"), warnings.catch_warnings():  # all runs have equal values
            warnings.simplefilter("ignore", RuntimeWarning)
            p = ttest_ind(us[old], us[new]).pvalue
        old_us, new_us = float(us[old].mean()), float(us[new].mean())
        share = (new_us - old_us) / (change.new_us - change.old_us)
        found.append(Cause(op_type, old_us, new_us, share, bool(p <= MAX_P)))
    found = [cause for cause in found if abs(cause.share) >= MIN_SHARE]
    found.sort(key=lambda cause: (not cause.is_certain, -abs(cause.share), cause.op_type))
    certain = [cause for cause in found if cause.is_certain]
    return certain[:MAX_CAUSES] or found[:1]
