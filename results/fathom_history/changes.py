"""Where a row's times go to another level: change points, found by Apache Otava."""

import warnings
from dataclasses import dataclass

import numpy as np
from otava.analysis import compute_change_points

# A folder has some forty steps and a thousand ops alone: the same chance of a false alarm a row would be many alarms.
MAX_P = {"step": 0.001}
MAX_P_OF_MANY = 0.0001
WINDOW = 12  # runs that are looked at together: in wider windows, what lasted a few runs is lost among those after it
SPIKE = 6  # usual differences between neighbours


@dataclass(frozen=True)
class Change:
    """Indices are those of the machine's runs."""

    row: str
    kind: str
    old: tuple[int, ...]  # the runs of the level before
    new: tuple[int, ...]  # and of the level from then on
    old_us: float  # their means
    new_us: float
    p: float

    @property
    def run(self):
        """The first of the new level."""
        return self.new[0]

    @property
    def percent(self):
        return 100 * (self.new_us / self.old_us - 1)


@dataclass(frozen=True)
class Found:
    changes: list[Change]
    aside: list[int]  # runs that stand out alone


def find(series, smallest):
    """Changes of at least `smallest` percent.

    Runs that stand out alone are set aside, the newest only where it may be noise.
    """
    kept = list(series.known)
    aside = []
    while out := spikes(series.us[kept], smallest):
        aside += [kept.pop(place) for place in reversed(out)]
    while True:
        points = change_points(series.us[kept], MAX_P.get(series.kind, MAX_P_OF_MANY), smallest)
        ends = [0, *(point.index for point in points), len(kept)]
        lone = [start for start, end in zip(ends, ends[1:]) if end == start + 1]
        if points and lone[-1:] == [len(kept) - 1] and points[-1].stats.pvalue <= MAX_P_OF_MANY:
            lone.pop()
        if not points or not lone:
            break
        aside += [kept.pop(place) for place in reversed(lone)]
    runs = [tuple(map(int, kept[start:end])) for start, end in zip(ends, ends[1:])]
    changes = [
        Change(
            series.name,
            series.kind,
            *(old, new),
            *map(float, (point.stats.mean_1, point.stats.mean_2, point.stats.pvalue)),
        )
        for old, new, point in zip(runs, runs[1:], points)
    ]
    return Found(changes, sorted(map(int, aside)))


def spikes(us, smallest):
    """Places that lie away from both neighbours, on the same side, by much more than neighbours usually do."""
    if len(us) < 4:
        return []
    differences = np.diff(us)
    least = max(SPIKE * np.median(abs(differences)), smallest / 100 * np.median(us))
    here, back = differences[:-1], -differences[1:]
    return list(1 + np.flatnonzero((here * back > 0) & (np.minimum(abs(here), abs(back)) > least)))


def change_points(us, max_p, smallest):
    with warnings.catch_warnings(), np.errstate(all="ignore"):  # runs that are all alike
        warnings.simplefilter("ignore", RuntimeWarning)
        return compute_change_points(
            us.tolist(), window_len=WINDOW, max_pvalue=max_p, min_magnitude=smallest / 100
        )[0]
