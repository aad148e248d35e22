"""How large a shift is where nothing has changed."""

from dataclasses import dataclass, field

import numpy as np

from fathom_gate.shift import shift

# Standard deviations of the shift between two runs of one program: one row in 16,000 differs by more, were it normal.
FAR = 4
# Halves of the interval that this is where runs differ no more than their repetitions: the interval's half is 1.96
# standard deviations.
AT_BEST = FAR / 1.96


@dataclass(frozen=True)
class Noise:
    """A change counts from floor(row) on."""

    smallest: float  # --smallest, as a shift of logarithms
    factor: float = AT_BEST  # of the half of the interval that the repetitions give
    seen: dict[str, float] = field(default_factory=dict)  # the row's own largest shift between runs
    rows: int = 0  # that `factor` comes from
    measured: bool = False  # whether it is known how much processes differ

    def floor(self, name, found):
        width = found.half_width if np.isfinite(found.half_width) else 0
        return max(self.smallest, self.factor * width, self.seen.get(name, 0))


def taking_turns(smallest):
    """Where each repetition is a process of its own, the test knows how much these differ."""
    return Noise(smallest, factor=1, measured=True)


def between(base, others, smallest):
    """From further runs of the program that `base` is of."""
    ratios, seen = [], {}
    for other in others:
        for name in base.times.keys() & other.times.keys():
            found = shift(base.times[name], other.times[name])
            seen[name] = max(seen.get(name, 0), abs(found.effect))
            if np.isfinite(found.half_width) and found.half_width > 0:
                ratios.append(found.effect / found.half_width)
    factor = FAR * float(np.sqrt(np.mean(np.square(ratios)))) if ratios else AT_BEST
    return Noise(smallest, max(1, factor), seen, len(ratios), measured=True)
