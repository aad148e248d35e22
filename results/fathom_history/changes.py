"""Finds change points in the times of a row, with Apache Otava."""

import warnings
from dataclasses import dataclass

import numpy as np
from otava.analysis import compute_change_points

# A folder holds far more ops than steps. With the same limit, ops would give many false alarms.
MAX_P = {"step": 0.001}
MAX_P_OF_MANY = 0.0001
WINDOW = 12  # runs per window of Otava; wider windows miss changes that last only a few runs
SPIKE = 6  # times the median difference between neighbours; an outlier differs by more


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


def find(series, smallest):
    """Finds changes of at least `smallest` percent.

    Single runs that differ from both neighbours are outliers. The newest run is an outlier only if it may be noise.
    """
    kept = list(series.known)
    outliers = []
    while found := spikes(series.us[kept], smallest):
        outliers += [kept.pop(index) for index in reversed(found)]
    while True:
        points = change_points(series.us[kept], MAX_P.get(series.kind, MAX_P_OF_MANY), smallest)
        ends = [0, *(point.index for point in points), len(kept)]
        single = [start for start, end in zip(ends, ends[1:]) if end == start + 1]
        if points and single[-1:] == [len(kept) - 1] and points[-1].stats.pvalue <= MAX_P_OF_MANY:
            single.pop()
        if not points or not single:
            break
        outliers += [kept.pop(index) for index in reversed(single)]
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
    return Found(changes, sorted(map(int, outliers)))


def spikes(us, smallest):
    """Indices of values that differ from both neighbours, in the same direction, by much more than usual."""
    if len(us) < 4:
        return []
    differences = np.diff(us)
    least = max(SPIKE * np.median(abs(differences)), smallest / 100 * np.median(us))
    here, back = differences[:-1], -differences[1:]
    return list(1 + np.flatnonzero((here * back > 0) & (np.minimum(abs(here), abs(back)) > least)))


def change_points(us, max_p, smallest):
    with warnings.catch_warnings(), np.errstate(all="ignore"):  # all runs have equal values
        warnings.simplefilter("ignore", RuntimeWarning)
        return compute_change_points(
            us.tolist(), window_len=WINDOW, max_pvalue=max_p, min_magnitude=smallest / 100
        )[0]
