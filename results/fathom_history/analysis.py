"""Analyses the runs of one machine."""

from dataclasses import dataclass

from fathom_history import context, sentences
from fathom_history.causes import causes
from fathom_history.context import Mark
from fathom_history.detection import changes, profiles
from fathom_history.detection.changes import Change, Found
from fathom_history.detection.limits import OTHERS, PROFILES, STEPS, kind
from fathom_history.detection.noise import correlation
from fathom_history.detection.profiles import ProfileChange
from fathom_history.machines import Machine, Series

NEAR = 1  # run; noise can shift a change of the time and one of the profile by one run


@dataclass(frozen=True)
class DescribedChange:
    """A change and the sentence about it, which follows the name of the row."""

    change: Change | ProfileChange
    sentence: str


@dataclass(frozen=True)
class Analysis:
    machine: Machine
    marks: list[Mark]
    found: dict[str, Found]  # by row
    profiles: dict[str, list[ProfileChange]]  # by step, in the order of the runs
    changes: list[
        DescribedChange
    ]  # newest run first, then steps, then largest change, then profiles
    correlations: dict[str, float]  # between one run and the next, by kind (limits.py)

    def of_kind(self, *kinds):
        return [series for series in self.machine.series if series.kind in kinds]

    @property
    def time_changes(self):
        return [one for one in self.changes if isinstance(one.change, Change)]

    @property
    def profile_changes(self):
        """All changes of profiles, newest first."""
        found = [one for changes in self.profiles.values() for one in changes]
        return sorted(found, key=lambda one: (-one.run, -one.distance))

    def changes_of(self, row):
        """Changes of one row, in the order of the runs."""
        return [one for one in reversed(self.changes) if one.change.row == row]

    def marks_at(self, change):
        """Changes of the context between the last run of the old level and the first run of the new one."""
        return [mark for mark in self.marks if change.old[-1] < mark.run <= change.run]


def analysed(machine, smallest, limits):
    """Analyses a machine. `limits` are the largest p of changes by kind."""
    marks = context.marks(machine.runs)
    correlated = correlations(machine, smallest)

    def decided(name):
        return smallest, limits[name], correlated[name]

    found = {one.name: changes.find(one, *decided(kind(one))) for one in machine.series}
    moved = {
        row: profiles.find(row, types, *decided(PROFILES)) for row, types in machine.types.items()
    }
    every = [
        one
        for series in machine.series
        for one in described(
            series, found[series.name].changes, moved.get(series.name, []), machine, marks
        )
    ]
    every.sort(key=order)
    return Analysis(machine, marks, found, moved, every, correlated)


def correlations(machine, smallest):
    """The correlation between one run and the next by kind: of all rows of a kind together, as one row has few runs."""
    found = {PROFILES: correlation(map(profiles.near, machine.types.values()))}
    for name in (STEPS, OTHERS):
        rows = (one for one in machine.series if kind(one) == name)
        us = (one.us[changes.steady(one, smallest)] for one in rows)
        found[name] = correlation(map(changes.near, us))
    return found


def described(series: Series, times, moved, machine, marks):
    """Yields the changes of a row. A change of the profile that comes with one of the time is in its sentence."""
    alone = list(moved)
    for change in times:
        beside = [one for one in moved if abs(one.run - change.run) <= NEAR]
        alone = [one for one in alone if one not in beside]
        found = causes(change, machine.types.get(series.name, {}))
        words = sentences.change(change, machine, series, marks, found, beside)
        yield DescribedChange(change, words)
    for one in alone:
        yield DescribedChange(one, sentences.profile(one, machine, marks))


def order(described):
    change = described.change
    is_time = isinstance(change, Change)
    return -change.run, change.kind != "step", -abs(change.percent) if is_time else 0
