"""Divides a series of runs into levels of similar runs, given the distances between all pairs of runs.

A distance is half of a squared Euclidean distance, as the cosine distance is for vectors of length 1. The distances of
n runs to their mean then add up to the sum over their pairs, divided by n.
"""

import math

import numpy as np
from scipy.special import stdtr

from fathom_history.detection.noise import MIN_NOISE, inflation, noise

PENALTY = 3  # of one more level: times the noise of a level's mean, times log(runs)


def partition(distances, correlation):
    """Bounds of the levels with the smallest distances to their means: the start of each level, and the last end.

    Each level costs a penalty (optimal partitioning, Jackson et al. 2005). Runs that resemble the one before wander as
    far as the sum of their correlations says, so it grows with them.
    """
    count = len(distances)
    wander = (1 + correlation) / (1 - correlation)
    penalty = PENALTY * wander * noise(distances, correlation) * math.log(count)
    sums = np.zeros((count + 1, count + 1))  # of the distances in [0, i) x [0, j)
    sums[1:, 1:] = distances.cumsum(0).cumsum(1)
    squares, bound = np.diag(sums), np.arange(count + 1)
    # Row: end of a level; column: start.
    lengths = np.maximum(bound[:, None] - bound, 1)
    inside = (squares[:, None] - 2 * sums + squares) / 2 / lengths + penalty
    # Of the best levels of the first n runs: cost, and start of the last level.
    costs, starts = np.zeros(count + 1), [0]
    for end in range(1, count + 1):
        total = costs[:end] + inside[end, :end]
        starts.append(int(total.argmin()))
        costs[end] = total[starts[-1]]
    bounds = [count]
    while bounds[0]:
        bounds.insert(0, starts[bounds[0]])
    return bounds


def merged(bounds, probabilities, max_p):
    """Merges the neighbouring levels with the largest of `probabilities(bounds)` until all are at most `max_p`."""
    bounds = list(bounds)
    while len(bounds) > 2:
        values = probabilities(bounds)
        if max(values) <= max_p:
            break
        del bounds[1 + values.index(max(values))]
    return bounds


def probabilities(distances, bounds, correlation):
    """p of the difference between every two neighbouring levels.

    The statistic is the distance between their means over the scatter within all levels. With noise in one dimension
    it is Student's t, with `correlation` between one run and the next. With noise in several dimensions large values
    are rarer (Szekely and Bakirov 2003), so p of Student's t is then too large rather than too small.
    """
    levels = list(zip(bounds, bounds[1:]))
    inside = [scatter(distances, *level) for level in levels]
    counts = np.diff(bounds)
    means = [inflation(count, correlation) / count for count in counts]  # their variances
    freedom = sum(count * (1 - mean) for count, mean in zip(counts, means))
    if freedom <= 0:  # each run is a level
        return [1.0] * (len(levels) - 1)
    variance = max(sum(inside) / freedom, MIN_NOISE)
    found = []
    for left, ((start, middle), (_, end)) in enumerate(zip(levels, levels[1:])):
        right = left + 1
        between = scatter(distances, start, end) - inside[left] - inside[right]
        apart = max(between, 0) * (1 / counts[left] + 1 / counts[right])
        ratio = math.sqrt(apart / variance / (means[left] + means[right]))
        found.append(float(2 * stdtr(counts.sum() - len(levels), -ratio)))  # Student's t
    return found


def scatter(distances, start, end):
    """Sum of the distances of runs to their mean."""
    return distances[start:end, start:end].sum() / 2 / (end - start)


def by_chance(runs, odd, level):
    """Upper bound of the expected number of places where as many odd runs as `level` has follow each other.

    `odd` of the runs were set aside.
    """
    return runs * (odd / runs) ** level if runs else 0.0
