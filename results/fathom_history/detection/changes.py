"""Finds change points in the times of a row."""

from dataclasses import dataclass

import numpy as np

from fathom_history.detection.levels import by_chance, merged, partition, probabilities
from fathom_history.detection.noise import small

NEWEST = 0.1  # times the limit of p, of a change that only the newest run shows
SPIKE = 4  # times the usual difference between neighbours; an outlier differs by more
MAX_CHANCE = 0.05  # that odd runs alone make a level
FEW = 4  # runs; fewer have no change and no outlier


@dataclass(frozen=True)
class Change:
    """A change of level. Runs are indices into `Machine.runs`."""

    row: str
    kind: str
    old: tuple[int, ...]  # runs of the old level
    new: tuple[int, ...]  # runs of the new level
    old_us: float  # means over these runs
    new_us: float
    p: float
    is_drift: bool = False  # a straight line through the runs of both levels fits as well
    back_to: int | None = None  # the last run that had the new level before

    @property
    def run(self):
        """The first run of the new level."""
        return self.new[0]

    @property
    def sign(self):
        return "slower" if self.percent > 0 else "faster"

    @property
    def percent(self):
        return 100 * (self.new_us / self.old_us - 1)


@dataclass(frozen=True)
class Found:
    changes: list[Change]
    outliers: list[int]  # runs that are not used


def find(series, smallest, max_p, correlation):
    """Finds changes of at least `smallest` percent whose p is at most `max_p`.

    Single runs that differ from both neighbours are outliers. The newest run is an outlier only if it may be noise.
    """
    kept = steady(series, smallest)
    while True:
        us = series.us[kept]
        bounds, values = levels(us, len(series.known), smallest, max_p, correlation)
        single = [start for start, end in zip(bounds, bounds[1:]) if end == start + 1]
        is_newest = single[-1:] == [len(kept) - 1] and values
        if is_newest and values[-1] <= NEWEST * max_p and len(kept) == len(series.known):
            single.pop()
        if not values or not single:
            break
        kept = np.delete(kept, single)
    runs = [tuple(map(int, kept[start:end])) for start, end in zip(bounds, bounds[1:])]
    means = [float(series.us[list(level)].mean()) for level in runs]
    changes = [
        Change(
            *(series.name, series.kind, *runs[place : place + 2], *means[place : place + 2], p),
            is_line(series.us[list(runs[place] + runs[place + 1])], len(runs[place])),
            back_to(runs, means, place + 1, smallest),
        )
        for place, p in enumerate(values)
    ]
    return Found(changes, sorted(map(int, set(series.known) - set(kept))))


def back_to(runs, means, level, smallest):
    """The last run of the newest earlier level that differs from this one by less than `smallest` percent."""
    for earlier in range(level - 2, -1, -1):
        if abs(means[level] / means[earlier] - 1) < smallest / 100:
            return runs[earlier][-1]
    return None


def steady(series, smallest):
    """The runs of a row without single runs that differ from both neighbours."""
    kept = series.known
    while found := spikes(series.us[kept], smallest):
        kept = np.delete(kept, found)
    return kept


def spikes(us, smallest):
    """Indices of values that differ from both neighbours, in the same direction, by much more than usual."""
    if len(us) < FEW:
        return []
    differences = np.diff(us)
    least = max(SPIKE * np.sqrt(small(differences**2)), smallest / 100 * np.median(us))
    here, back = differences[:-1], -differences[1:]
    return list(1 + np.flatnonzero((here * back > 0) & (np.minimum(abs(here), abs(back)) > least)))


def distances(us):
    """Half of the squared differences between all pairs of runs, relative to the median."""
    relative = us / np.median(us) if len(us) else us
    return (relative[:, None] - relative) ** 2 / 2


def near(us):
    """Distances between runs that are one apart, and two apart, without the drift of the row."""
    relative = us / np.median(us) if len(us) else us
    differences = (relative[apart:] - relative[:-apart] for apart in (1, 2))
    return [(one - np.median(one)) ** 2 / 2 if len(one) else one for one in differences]


def levels(us, known, smallest, max_p, correlation):
    """Bounds of levels, and p of the changes between them. Of `known` runs, those that `us` lacks were odd."""
    apart = distances(us)

    def values(bounds):
        found = probabilities(apart, bounds, correlation)
        for place, (start, middle, end) in enumerate(zip(bounds, bounds[1:], bounds[2:])):
            old, new = us[start:middle].mean(), us[middle:end].mean()
            shorter = min(middle - start, end - middle)
            # A single run becomes an outlier, however many there are.
            is_chance = shorter > 1 and by_chance(known, known - len(us), shorter) > MAX_CHANCE
            if is_chance or abs(new / old - 1) < smallest / 100:
                found[place] = 1.0
        return found

    if len(us) < FEW:
        return [0, len(us)], []
    bounds = merged(partition(apart, correlation), values, max_p)
    return bounds, values(bounds)


def is_line(us, middle):
    """Whether a straight line fits the runs of two levels as well as their means do."""
    place = np.arange(len(us))
    line = np.polyval(np.polyfit(place, us, 1), place)
    means = np.where(place < middle, us[:middle].mean(), us[middle:].mean())
    return len(us) > 2 and bool(((us - line) ** 2).sum() <= ((us - means) ** 2).sum())
