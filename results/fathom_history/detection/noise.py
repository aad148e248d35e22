"""The noise of a series of runs without its changes: its size, and its correlation from one run to the next.

Both come from distances between runs that are one or two runs apart (see levels.py). A change of level is in few of
these, which are left out as the largest.
"""

import functools
import math

import numpy as np
from scipy.stats import norm

MIN_NOISE = 1e-9  # of equal runs
LEFT_OUT = 0.2  # share of the distances
FEW = 5  # distances; fewer tell nothing about a correlation
LEAST = 100  # distances of all series; of fewer, a correlation is too uncertain to be used
MAX_CORRELATION = 0.9
DOUBT = 4.4  # two standard errors of the correlation, times the root of the number of distances


def noise(distances, correlation):
    """Variance of a run around its level."""
    near = np.diag(distances, 1)
    return max(small(near) / expected(len(near)) / (1 - correlation), MIN_NOISE)


def small(values):
    """The mean without the largest values."""
    return np.sort(values)[: kept(len(values))].mean() if len(values) else 0.0


def kept(count):
    return count - int(LEFT_OUT * count)


@functools.cache
def expected(count):
    """What `small` gives for squares of normal numbers with variance 1."""
    share = kept(count) / count if count else 1.0
    if share == 1:
        return 1.0
    edge = norm.ppf((1 + share) / 2)
    return 1 - 2 * edge * norm.pdf(edge) / share


def correlation(every):
    """The correlation between one run and the next, of all series of `every` together. 0 if it may be chance.

    A series is its distances between runs that are one apart, and two apart. Of autocorrelated noise of the first
    order, runs that are two apart differ (1 + correlation) times as much as neighbours, in the mean of squares. The
    largest jump of each series is left out, because it may be a change.
    """
    ones, twos = [], []
    for one, two in every:
        if len(one) < FEW:
            continue
        jump = int(one.argmax())
        one = np.delete(one, jump)
        two = np.delete(two, [place for place in (jump - 1, jump) if 0 <= place < len(two)])
        size = small(one) + small(two)
        if size > MIN_NOISE:
            ones.append(one / size)
            twos.append(two / size)
    if sum(map(len, ones)) < LEAST:
        return 0.0
    ones, twos = map(np.concatenate, (ones, twos))
    found = small(twos) / small(ones) - 1
    return float(min(found, MAX_CORRELATION)) if found > DOUBT / math.sqrt(len(ones)) else 0.0


@functools.cache
def inflation(runs, correlation):
    """Variance of the mean of so many runs, over that of independent runs."""
    apart = np.arange(1, runs)
    return 1 + 2 * float(((1 - apart / runs) * correlation**apart).sum())
