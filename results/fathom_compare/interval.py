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
MIN_WORKLOADS = 3  # with two, Student's interval is wider than any plot


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
