"""How far the times of two runs lie apart: Mann and Whitney's U, in blocks of time where the runs took turns.

Ranks are compared inside each block only and the counts added up (van Elteren, Bulletin of the ISI 37, 1960), so that
what drifts from block to block shifts both sides alike. One block is the plain test.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Shift:
    """Of the logarithm of times: what is 0.1 above takes 10.5 % longer."""

    effect: float  # the median of the differences (Hodges and Lehmann)
    low: float  # its interval; infinite where there are too few repetitions for one
    high: float
    p: float  # two-sided, exact

    @property
    def half_width(self):
        return (self.high - self.low) / 2


def shift(base, new, block=None, confidence=0.95):
    """Of `new` against `base`, both positive times in order; `block` is how many of a side share a block."""
    base, new = np.log(base), np.log(new)
    places = blocks(len(base), len(new), block)
    differences = np.sort(
        np.concatenate([np.subtract.outer(new[b], base[a]).ravel() for a, b in places])
    )
    below, at_most = null_distribution(sizes(len(base), len(new), block))
    longer = np.sum(differences > 0) + np.sum(differences == 0) / 2
    # Ties count half; a half is rounded to where it says less.
    lower, upper = at_most[math.ceil(longer)], 1 - below[math.floor(longer)]
    beyond = int(
        np.sum(at_most <= (1 - confidence) / 2)
    )  # differences outside the interval, a side
    low, high = (differences[beyond - 1], differences[-beyond]) if beyond else (-np.inf, np.inf)
    return Shift(float(np.median(differences)), low, high, min(1.0, 2 * min(lower, upper)))


def blocks(base, new, block=None):
    """Pairs of slices over the repetitions of both sides; what only one side has is left out."""
    both = max(base, new) if block is None else min(base, new)
    size = block or both
    starts = range(0, both, size)
    return [(slice(i, min(i + size, both)),) * 2 for i in starts]


def sizes(base, new, block=None):
    """How many repetitions each side has in each block."""
    return tuple((len(range(base)[a]), len(range(new)[b])) for a, b in blocks(base, new, block))


def least_p(base, new, block=None):
    """The smallest p that so many repetitions can have."""
    return min(1.0, 2 * null_distribution(sizes(base, new, block))[1][0])


@functools.lru_cache(maxsize=None)
def null_distribution(sizes):
    """P(U < u) and P(U <= u) for each u, where no side is longer: U summed over blocks of `sizes`."""
    density = np.ones(1)
    for n, m in sizes:
        density = np.convolve(density, orderings(n, m) / math.comb(n + m, n))
    at_most = np.minimum(np.cumsum(density), 1)
    return np.concatenate(([0], at_most[:-1])), at_most


@functools.lru_cache(maxsize=None)
def orderings(n, m):
    """How many orders of n and m values have each U: Gauss's binomial coefficient, exact."""
    counts = np.array([1], dtype=object)
    for i in range(1, min(n, m) + 1):
        longer = max(n, m) + i
        counts = np.concatenate((counts, np.zeros(longer, dtype=object)))
        counts[longer:] -= counts[:-longer].copy()  # times 1 - q^longer
        for u in range(i, len(counts)):  # over 1 - q^i
            counts[u] += counts[u - i]
        counts = counts[: i * max(n, m) + 1]
    return counts.astype(float)


def percent(effect):
    """A shift of logarithms in percent of time."""
    return 100 * math.expm1(effect)
