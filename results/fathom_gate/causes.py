"""Which op types of a step that moved took longer, and how much of the change each explains."""

from dataclasses import dataclass

import numpy as np

from fathom_runs.names import step_of

LEAST_SHARE = 0.05  # of the step's change, from which on an op type is named
MOST = 5


@dataclass(frozen=True)
class Cause:
    op_type: str
    base_us: float  # a step, in the watched steps
    new_us: float
    share: float  # of the step's change
    moved: bool  # as its own row says

    @property
    def more_us(self):
        return self.new_us - self.base_us


def causes(judged, base, new):
    """By step that moved: op types by their part in the change, the largest first; none without their rows."""
    verdicts = {row.name: row for row in judged.rows}
    found = {row.name: [] for row in judged.rows if row.moved and row.kind == "step"}
    for name in dict.fromkeys([*base.times, *new.times]):
        step, op_type = step_of(name)
        if not op_type or step not in found:
            continue
        own = verdicts.get(name)
        before, after = (
            (own.base_us, own.new_us) if own else (median(base, name), median(new, name))
        )
        share = (after - before) / (verdicts[step].new_us - verdicts[step].base_us)
        found[step].append(Cause(op_type, before, after, share, own is None or own.moved))
    return {step: largest(all_causes) for step, all_causes in found.items()}


def median(run, name):
    """Of an op type that one run alone may have."""
    return float(np.median(run.times[name])) if name in run.times else 0.0


def largest(found):
    found = [cause for cause in found if cause.share >= LEAST_SHARE]
    return sorted(found, key=lambda cause: (-cause.share, cause.op_type))[:MOST]
