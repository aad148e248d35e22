"""Analyses the runs of one machine."""

from dataclasses import dataclass

from fathom_history import changes, context, sentences
from fathom_history.causes import causes
from fathom_history.changes import Change, Found
from fathom_history.context import Mark
from fathom_history.machines import Machine, Series


@dataclass(frozen=True)
class DescribedChange:
    """A change and the sentence about it, which follows the name of the row."""

    change: Change
    sentence: str


@dataclass(frozen=True)
class Analysis:
    machine: Machine
    marks: list[Mark]
    found: dict[str, Found]  # by row
    changes: list[DescribedChange]  # newest run first, then steps, then largest change

    def of_kind(self, *kinds):
        return [series for series in self.machine.series if series.kind in kinds]

    def changes_of(self, row):
        """Changes of one row, in the order of the runs."""
        return [one for one in reversed(self.changes) if one.change.row == row]

    def marks_at(self, change):
        """Changes of the context between the last run of the old level and the first run of the new one."""
        return [mark for mark in self.marks if change.old[-1] < mark.run <= change.run]


def analysed(machine, smallest):
    marks = context.marks(machine.runs)
    found = {series.name: changes.find(series, smallest) for series in machine.series}
    every = [
        described(series, change, machine, marks)
        for series in machine.series
        for change in found[series.name].changes
    ]
    every.sort(
        key=lambda one: (-one.change.run, one.change.kind != "step", -abs(one.change.percent))
    )
    return Analysis(machine, marks, found, every)


def described(series: Series, change, machine, marks):
    found = causes(change, machine.types.get(series.name, {}))
    return DescribedChange(change, sentences.change(change, machine, series, marks, found))
