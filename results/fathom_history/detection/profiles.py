"""Finds changes of a step's profile: the shares of its op types in its time.

A profile can change while the time of the step stays the same.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fathom_history.detection.levels import by_chance, merged, partition, probabilities
from fathom_history.machines import op_times
from fathom_page.distances import cosine_distances

MIN_LEVEL, MIN_RUNS = 2, 7  # runs of a level, and of two levels together
MAX_CHANCE = 0.01  # that odd runs alone make a level
MAX_SHIFTS = 3  # op types that are named
MIN_SHIFT = 0.5  # of the largest shift; op types with smaller ones are not named


@dataclass(frozen=True)
class Shift:
    """Mean share of an op type in the step before and after a change, in percent."""

    op_type: str
    old: float
    new: float


@dataclass(frozen=True)
class ProfileChange:
    """A change of the profile. Runs are indices into `Machine.runs`."""

    row: str
    old: tuple[int, ...]  # runs of the old level
    new: tuple[int, ...]  # runs of the new level
    distance: float  # cosine distance between the mean profiles
    noise: float  # median cosine distance between two runs of the same level
    p: float
    shifts: tuple[Shift, ...]  # largest first

    kind = "step"
    sign = "profile"

    @property
    def run(self):
        """The first run of the new level."""
        return self.new[0]


def find(row, types, smallest, max_p, correlation):
    """Finds changes that move at least `smallest` percent of the step to or from an op type, with p of at most `max_p`.

    `types` are the Series of the step's op types. Single runs that differ from their neighbours are not used.
    """
    every = shares(types)
    profiles, apart, bounds = without_odd_runs(every, correlation)
    odd = len(every) - len(profiles)

    def values(bounds):
        found = probabilities(apart, bounds, correlation)
        for place, (start, middle, end) in enumerate(zip(bounds, bounds[1:], bounds[2:])):
            shorter = min(middle - start, end - middle)
            is_chance = by_chance(len(every), odd, shorter) > MAX_CHANCE
            moved = profiles[middle:end].mean() - profiles[start:middle].mean()
            is_short = shorter < MIN_LEVEL or end - start < MIN_RUNS
            if is_short or is_chance or moved.abs().max() < smallest:
                found[place] = 1.0
        return found

    bounds = merged(bounds, values, max_p)
    return [
        change(row, profiles, apart, three, p)
        for *three, p in zip(bounds, bounds[1:], bounds[2:], values(bounds))
    ]


def shares(types):
    """Percent of the step by op type, one row per profiled run."""
    times = pd.DataFrame(op_times(types)[0])
    total = times.sum(axis=1)
    return 100 * times[total > 0].div(total[total > 0], axis=0)


def near(types):
    """Distances between the profiles of runs that are one apart, and two apart."""
    distances = between(shares(types))
    return [np.diag(distances, apart) for apart in (1, 2)]


def between(profiles):
    return cosine_distances(profiles).to_numpy() if len(profiles) else np.empty((0, 0))


def without_odd_runs(profiles, correlation):
    """Removes runs that are a level of their own. Returns the profiles, their distances and the bounds of levels."""
    while len(profiles) >= MIN_RUNS:
        apart = between(profiles)
        bounds = partition(apart, correlation)
        single = [start for start, end in zip(bounds, bounds[1:]) if end - start < MIN_LEVEL]
        if not single:
            return profiles, apart, bounds
        profiles = profiles.drop(profiles.index[single])
    return profiles, np.empty((0, 0)), []


def change(row, profiles, distances, bounds, p):
    start, middle, end = bounds
    levels = profiles[start:middle], profiles[middle:end]
    means = pd.DataFrame([level.mean() for level in levels])
    pairs = [
        distances[a:b, a:b][np.triu_indices(b - a, 1)] for a, b in ((start, middle), (middle, end))
    ]
    return ProfileChange(
        row,
        *(tuple(map(int, level.index)) for level in levels),
        float(cosine_distances(means).iloc[0, 1]),
        float(np.median(np.concatenate(pairs))),
        p,
        shifts(*means.to_numpy(), means.columns),
    )


def shifts(old, new, names):
    """The op types that changed most, largest first."""
    found = [Shift(name, float(a), float(b)) for name, a, b in zip(names, old, new)]
    found.sort(key=lambda one: (-abs(one.new - one.old), one.op_type))
    least = MIN_SHIFT * abs(found[0].new - found[0].old)
    return tuple(one for one in found[:MAX_SHIFTS] if abs(one.new - one.old) >= least)
