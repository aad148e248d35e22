"""The noise: shifts between two runs of one program."""

from dataclasses import dataclass, field

import numpy as np

from fathom_gate.shift import shift

# The minimum shift in standard deviations of the noise. A normal variable exceeds it in one row of 16,000.
DEVIATIONS = 4
# The same in half widths of the 95 % interval (1.96 standard deviations), if runs differ as much as repetitions do.
MIN_FACTOR = DEVIATIONS / 1.96


@dataclass(frozen=True)
class Noise:
    """Shifts up to `floor` are noise."""

    smallest: float  # --smallest, as a shift of logarithms
    factor: float = MIN_FACTOR  # times the half width of the row's interval
    # Largest shift between the runs, by row.
    row_shifts: dict[str, float] = field(default_factory=dict)
    rows: int = 0  # number of rows that `factor` was computed from
    measured: bool = False  # whether the noise between processes was measured

    def floor(self, name, found):
        """The minimum shift of a row that is not noise; `found` is its Shift. Infinite with too few repetitions."""
        width = found.half_width
        return max(self.smallest, self.factor * width, self.row_shifts.get(name, 0))


def of_alternating_runs(smallest):
    """Noise of files of results/ab. Each repetition is a process, so intervals include the noise between processes."""
    return Noise(smallest, factor=1, measured=True)


def between(base, others, smallest):
    """Noise measured between `base` and other runs of the same program."""
    ratios, row_shifts = [], {}
    for other in others:
        for name in base.times.keys() & other.times.keys():
            found = shift(base.times[name], other.times[name])
            row_shifts[name] = max(row_shifts.get(name, 0), abs(found.effect))
            if np.isfinite(found.half_width) and found.half_width > 0:
                ratios.append(found.effect / found.half_width)
    factor = DEVIATIONS * float(np.sqrt(np.mean(np.square(ratios)))) if ratios else MIN_FACTOR
    return Noise(smallest, max(1, factor), row_shifts, len(ratios), measured=True)
