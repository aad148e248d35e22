"""Divides a series of runs into levels of similar runs, given the distances between all pairs of runs.

A distance is half of a squared Euclidean distance, as the cosine distance is for vectors of length 1. The distances of
n runs to their mean then add up to the sum over their pairs, divided by n.
"""

import math

import numpy as np
from scipy.stats import t as student

PENALTY = 3  # of one more level: times the noise, times log(runs)
MIN_NOISE = 1e-9  # of equal runs


def partition(distances):
    """Bounds of the levels with the smallest distances to their means: the start of each level, and the last end.

    Each level costs a penalty (optimal partitioning, Jackson et al. 2005). The noise is the median distance between
    neighbours, because changes and odd runs hardly influence it.
    """
    count = len(distances)
    penalty = PENALTY * max(np.median(np.diag(distances, 1)), MIN_NOISE) * math.log(count)
    sums = np.zeros((count + 1, count + 1))  # of the distances in [0, i) x [0, j)
    sums[1:, 1:] = distances.cumsum(0).cumsum(1)
    squares = np.diag(sums)
    # Of the best levels of the first n runs: cost, and start of the last level.
    costs, starts = np.zeros(count + 1), [0]
    for end in range(1, count + 1):
        start = np.arange(end)
        pairs = (squares[end] - 2 * sums[:end, end] + squares[:end]) / 2
        total = costs[:end] + pairs / (end - start) + penalty
        starts.append(int(total.argmin()))
        costs[end] = total.min()
    bounds = [count]
    while bounds[0]:
        bounds.insert(0, starts[bounds[0]])
    return bounds


def merged(bounds, p, max_p):
    """Merges neighbouring levels, largest `p(start, middle, end)` first, until every p is at most `max_p`."""
    bounds = list(bounds)
    while len(bounds) > 2:
        values = [p(*three) for three in zip(bounds, bounds[1:], bounds[2:])]
        if max(values) <= max_p:
            break
        del bounds[1 + values.index(max(values))]
    return bounds


def probability(distances, start, middle, end):
    """p of the difference between the levels [start, middle) and [middle, end).

    The statistic is the pseudo-F of PERMANOVA (Anderson 2001): the distance between the means over the scatter within
    the levels. With noise in one dimension it is the square of Student's t. With noise in several dimensions large
    values are rarer (Szekely and Bakirov 2003), so p of Student's t is then too large rather than too small.
    """
    inside = scatter(distances, start, middle) + scatter(distances, middle, end)
    between = max(scatter(distances, start, end) - inside, 0)
    freedom = end - start - 2
    variance = max(inside / freedom, MIN_NOISE)
    return float(2 * student.sf(math.sqrt(between / variance), freedom))


def scatter(distances, start, end):
    """Sum of the distances of runs to their mean."""
    return distances[start:end, start:end].sum() / 2 / (end - start)
