"""Confidence intervals of speed-ups."""

import math
import statistics
from dataclasses import dataclass

import numpy as np
from scipy.stats import bootstrap, t as student

CONFIDENCE = 0.95
# With fewer repetitions, the bootstrap's interval of a median is too narrow: with three, it holds the true ratio in
# 86 % of trials with skewed noise.
MIN_REPETITIONS = 5
RESAMPLES, SEED = 999, 0
MIN_FILES = 2  # on each side, for an interval between files; with two it is wide
# How often an interval held the true ratio, in percent of the trials of tests/results/compare_trials.py, in which runs
# differ by 1 % and have nine repetitions that differ by 0.5 %.
HELD_BY_FILES, HELD_BY_ONE = 96, 34
HELD_WORDS = (
    f"In trials with runs that differ by 1 %, the intervals of three files a side held the true ratio in {HELD_BY_FILES} %, "
    f"those of one file a side in {HELD_BY_ONE} % (docs/compare.md)."
)
MIN_WORKLOADS = 3  # with two, Student's interval is wider than any plot


def of_speedup(base, other):
    """The interval of base / other. Each side is a list of files, and a file a list of the times of its repetitions.

    With several files on both sides, files are the samples. Otherwise they are the repetitions, which agree better
    than runs do.
    """
    every = [np.concatenate(side) for side in (base, other)]
    if min(len(base), len(other)) < MIN_FILES:
        return of_ratio(*every)
    low, high = between_files(base, other)
    # The ratio that the page shows: of many skewed files, their means may be far from it.
    shown = float(np.median(every[0]) / np.median(every[1]))
    return min(low, shown), max(high, shown)


def between_files(base, other):
    """Welch's interval of the difference of two means (Biometrika 34, 1947), of the logarithms of the files' medians.

    Each file is a run with an offset of its own, which all of its repetitions share. So the repetitions of a file are
    one sample, however many they are and however they depend on each other.
    """
    sides = [np.log([np.median(file) for file in side]) for side in (base, other)]
    errors = [one.var(ddof=1) / len(one) for one in sides]  # squared, of the means
    middle, error = sides[0].mean() - sides[1].mean(), sum(errors)
    half = 0.0
    if error > 0:
        freedom = error**2 / sum(one**2 / (len(side) - 1) for one, side in zip(errors, sides))
        half = student.ppf((1 + CONFIDENCE) / 2, freedom) * math.sqrt(error)
    return math.exp(middle - half), math.exp(middle + half)


def of_ratio(base, other):
    """The interval of the ratio of two medians, by the percentile bootstrap. NaN with too few repetitions.

    `base` and `other` hold the times of all repetitions. The same times give the same interval.
    """
    if min(len(base), len(other)) < MIN_REPETITIONS:
        return math.nan, math.nan
    found = bootstrap(
        (base, other),
        lambda a, b, axis: np.median(a, axis=axis) / np.median(b, axis=axis),
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return float(found.low), float(found.high)


@dataclass(frozen=True)
class Mean:
    """A geometric mean over workloads. Its interval is NaN with too few of them."""

    value: float
    low: float
    high: float
    count: int


def geometric_mean(values):
    """The geometric mean of positive values, with Student's interval of the mean of their logarithms."""
    logs = np.log(np.asarray(values, dtype=float))
    low = high = math.nan
    if len(logs) >= MIN_WORKLOADS:
        half = student.ppf((1 + CONFIDENCE) / 2, len(logs) - 1) * statistics.stdev(logs)
        half /= math.sqrt(len(logs))
        low, high = (math.exp(logs.mean() + sign * half) for sign in (-1, 1))
    return Mean(math.exp(logs.mean()), low, high, len(logs))
