"""All that a page says of one machine's runs."""

from dataclasses import dataclass

from fathom_history import changes, context, sentences
from fathom_history.causes import causes
from fathom_history.changes import Change, Found
from fathom_history.context import Mark
from fathom_history.machines import Machine, Series


@dataclass(frozen=True)
class DescribedChange:
    """A change, and its sentence after the row's name."""

    change: Change
    sentence: str


@dataclass(frozen=True)
class Analysis:
    machine: Machine
    marks: list[Mark]
    found: dict[str, Found]  # by row
    changes: list[DescribedChange]  # the newest run first, then steps, then the largest

    def of_kind(self, *kinds):
        return [series for series in self.machine.series if series.kind in kinds]

    def changes_of(self, row):
        """Those of one row, in the order of the runs."""
        return [one for one in reversed(self.changes) if one.change.row == row]

    def marks_at(self, change):
        """What changed between the last run of the old level and the first of the new one."""
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
