"""The shift between the times of two programs that ran alternately, with the exact Mann-Whitney U test.

Only times of the same block of rounds are compared, and the U of the blocks are added (van Elteren, Bulletin of the ISI
37, 1960). A slow drift then affects both programs equally. With one block, this is the plain test.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np


CONFIDENCE = 0.95  # of the interval


@dataclass(frozen=True)
class Shift:
    """A difference of logarithms of times: 0.1 means 10.5 % longer."""

    effect: float  # median of all pairwise differences (Hodges and Lehmann)
    low: float  # confidence interval; infinite with too few times
    high: float
    p: float  # two-sided

    @property
    def half_width(self):
        return (self.high - self.low) / 2


def shift(base, new, block=None):
    """The shift of `new` relative to `base`: positive times in measuring order, NaN for a missing one.

    `block` consecutive times of each side are compared with each other.
    """
    pairs = blocks(np.log(base), np.log(new), block)
    differences = np.sort(
        np.concatenate([np.subtract.outer(after, before).ravel() for before, after in pairs])
    )
    below, at_most, beyond = null_distribution(sizes(pairs))
    longer = np.sum(differences > 0) + np.sum(differences == 0) / 2
    # Ties count half. A half U is rounded towards the larger p.
    lower, upper = at_most[math.ceil(longer)], 1 - below[math.floor(longer)]
    low, high = (differences[beyond - 1], differences[-beyond]) if beyond else (-np.inf, np.inf)
    # Without a common block there is no evidence of a change: p is 1 and the interval is infinite.
    count = len(differences)
    effect = float(differences[(count - 1) // 2] + differences[count // 2]) / 2 if count else 0.0
    return Shift(effect, low, high, min(1.0, 2 * min(lower, upper)))


def of_rounds(base, new, block):
    """The Shift of each row that two files of results/ab have."""
    return {
        name: shift(times, new.times[name], block)
        for name, times in base.times.items()
        if name in new.times
    }


def blocks(base, new, block=None):
    """The times of both sides, one pair of arrays per block, without missing times."""
    both = max(len(base), len(new))
    size = block or both
    pairs = ((base[i : i + size], new[i : i + size]) for i in range(0, both, size))
    return [tuple(times[~np.isnan(times)] for times in pair) for pair in pairs]


def sizes(pairs):
    """Number of times of each side, per block. A block that one side lacks adds nothing to U."""
    return tuple((len(base), len(new)) for base, new in pairs)


def min_p(base, new, block=None):
    """The smallest p that is possible with this number of times."""
    return min(1.0, 2 * null_distribution(sizes(blocks(base, new, block)))[1][0])


@functools.lru_cache(maxsize=None)
def null_distribution(sizes):
    """P(U < u) and P(U <= u) for each u under the null hypothesis. U is summed over blocks of `sizes`.

    Also the number of differences on each side of the confidence interval.
    """
    density = np.ones(1)
    for n, m in sizes:
        density = np.convolve(density, orderings(n, m) / math.comb(n + m, n))
    at_most = np.minimum(np.cumsum(density), 1)
    beyond = int(np.sum(at_most <= (1 - CONFIDENCE) / 2))
    return np.concatenate(([0], at_most[:-1])), at_most, beyond


@functools.lru_cache(maxsize=None)
def orderings(n, m):
    """Number of orderings of n and m values by their U: the coefficients of the Gaussian binomial, exact."""
    counts = np.array([1], dtype=object)
    for i in range(1, min(n, m) + 1):
        longer = max(n, m) + i
        counts = np.concatenate((counts, np.zeros(longer, dtype=object)))
        counts[longer:] -= counts[:-longer].copy()  # multiply by 1 - q^longer
        for u in range(i, len(counts)):  # divide by 1 - q^i
            counts[u] += counts[u - i]
        counts = counts[: i * max(n, m) + 1]
    return counts.astype(float)


def percent(effect):
    """Converts a difference of logarithms to percent."""
    return 100 * math.expm1(effect)
