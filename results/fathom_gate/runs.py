"""The shift between runs of the base's program and a run of another one.

The repetitions of a process agree better than processes do. So a run counts once, by the median of its times, and the
noise is how much the runs of the base differ: one process each, all of one program.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from fathom_gate.shift import CONFIDENCE, Shift
from fathom_runs.names import kind

# Most degrees of freedom of the noise with one to four runs of the base, or more. Consecutive runs resemble each other, so
# they differ less than a later run does. Fewer degrees make room for that.
MOST_DEGREES = (0, 8, 20, 30)
# Rows of equal, normal noise rarely have a larger spread of variances, relative to the expected one. Beyond it, the degrees
# of freedom fall. verdict_trials.py shows what these constants do.
USUAL_SPREAD, HEAVINESS = 1.15, 0.3


@dataclass(frozen=True)
class Noise:
    """How much runs of one program differ, over the rows of one kind."""

    deviation: float  # standard deviation of logarithms of times
    degrees: float  # of freedom; 0 without another run of the base
    rows: int  # that have two runs or more

    @classmethod
    def of(cls, before, variances, counts, most):
        """From the rows' times [rows, runs], variances and numbers of runs; `most` bounds the degrees of freedom."""
        known = counts > 1
        before, variances, free = before[known], variances[known], counts[known] - 1
        if not free.size:
            return cls(0.0, 0.0, 0)
        pooled = np.sum(free * variances) / np.sum(free)
        degrees = min(most, np.sum(free))
        if pooled > 0:
            # 1 if all rows have the same, normal noise. Heavy tails, modes and unequal rows make it larger.
            spread = np.mean((variances / pooled) ** 2 / (1 + 2 / free))
            if spread > USUAL_SPREAD:
                degrees = min(degrees, 1 + HEAVINESS / (spread - USUAL_SPREAD))
        variance = max(pooled, last_variance(before))
        return cls(float(np.sqrt(variance)), float(degrees), int(np.sum(known)))

    def variances(self, own, counts):
        """Of each row: the common one, or more if the row's own runs differ more. Few runs of its own say little."""
        free = counts - 1
        common = self.deviation**2
        moderated = (self.degrees * common + free * own) / np.maximum(self.degrees + free, 1)
        return np.maximum(common, moderated)


def shifts(bases, new):
    """The Shift of each row that `new` and the first of `bases` have, and the Noise by kind of row."""
    families = {}
    for name in bases[0].times:
        if name in new.times:
            families.setdefault(kind(name), []).append(name)
    found, noises = {}, {}
    most = MOST_DEGREES[min(len(bases), len(MOST_DEGREES)) - 1]
    for one, names in families.items():
        before = np.array([[level(run, name) for run in bases] for name in names])
        after = np.array([level(new, name) for name in names])
        made, noises[one] = of_family(before, after, most)
        found |= zip(names, made)
    return found, noises


def last_variance(before):
    """The variance by the distance of the last run from the earlier ones: all that a drift leaves visible."""
    earlier = np.sum(~np.isnan(before[:, :-1]), axis=1)
    rows = (earlier > 0) & ~np.isnan(before[:, -1])
    if not rows.any():
        return 0.0
    distances = before[rows, -1] - np.nanmean(before[rows, :-1], axis=1)
    return np.mean(distances**2 / (1 + 1 / earlier[rows]))


def level(run, name):
    """The logarithm of the median time of a row; NaN if the run lacks it."""
    return np.log(run.us(name)) if name in run.times else np.nan


def of_family(before, after, most):
    """The Shift of each row from the logarithms of times: `before` [rows, runs], NaN if missing, `after` [rows]."""
    counts = np.sum(~np.isnan(before), axis=1)
    means = np.nanmean(before, axis=1)
    own = np.nansum((before - means[:, None]) ** 2, axis=1) / np.maximum(counts - 1, 1)
    noise = Noise.of(before, own, counts, most)
    effects = after - means
    if not noise.degrees:
        return [Shift(float(effect), -np.inf, np.inf, 1.0) for effect in effects], noise
    errors = np.sqrt(noise.variances(own, counts) * (1 + 1 / counts))
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * student.sf(np.abs(effects) / errors, noise.degrees)
    p = np.where(effects == 0, 1.0, p)
    widths = student.ppf((1 + CONFIDENCE) / 2, noise.degrees) * errors
    values = zip(effects.tolist(), widths.tolist(), p.tolist())
    return [Shift(effect, effect - width, effect + width, p) for effect, width, p in values], noise
