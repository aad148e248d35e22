"""Groups runs by machine, and collects the times of each row over the runs of a machine."""

from dataclasses import dataclass

import numpy as np

from fathom_history.run import Run
from fathom_runs.catalogue import FRAMEWORK
from fathom_runs.context import by_machine, titles
from fathom_runs.names import kind, step_of


@dataclass(frozen=True)
class Series:
    """Times of a row, in microseconds: one value per run, NaN if the run lacks the row."""

    name: str
    kind: str  # "step", "inside", "op", "other", as fathom_runs.names.kind names them
    us: np.ndarray
    low: np.ndarray  # the fastest repetition
    high: np.ndarray  # the slowest repetition
    labels: tuple[str | None, ...]

    @property
    def known(self):
        return np.flatnonzero(np.isfinite(self.us))


@dataclass(frozen=True)
class Machine:
    title: str
    runs: list[Run]  # in the order of their dates
    series: list[Series]  # in the order in which rows first appear, without op types inside steps
    types: dict[str, dict[str, Series]]  # by profiled step and op type


def machines(runs):
    """Groups runs by machine. The machine of the newest run comes first."""
    groups = by_machine({number: run.context for number, run in enumerate(runs)})
    groups.sort(key=lambda numbers: numbers[-1], reverse=True)
    names = titles([runs[numbers[-1]].context for numbers in groups])
    return [of_runs(name, [runs[one] for one in numbers]) for name, numbers in zip(names, groups)]


def of_runs(title, runs):
    names = dict.fromkeys(name for run in runs for name in run.rows)
    every = [series(name, runs) for name in names]
    types = {}
    for one in every:
        step, op_type = step_of(one.name)
        if op_type:
            types.setdefault(step, {})[op_type] = one
    return Machine(title, runs, [one for one in every if one.kind != "inside"], types)


def series(name, runs):
    rows = [run.rows.get(name) for run in runs]
    values = np.array([[row.us, row.low, row.high] if row else [np.nan] * 3 for row in rows])
    return Series(name, kind(name), *values.T, tuple(row.label if row else None for row in rows))


def op_times(types):
    """Microseconds and classes of a step's op types by name. A run without an op type has 0.

    The class framework is one op type.
    """
    times, classes = {}, {}
    for name, one in types.items():
        kind = op_class(one)
        name = kind if kind == FRAMEWORK else name
        times[name] = times.get(name, 0) + np.nan_to_num(one.us)
        classes[name] = kind
    return times, classes


def op_class(series):
    """The newest label. Without a label, the class is framework."""
    return next((label for label in reversed(series.labels) if label), FRAMEWORK)
