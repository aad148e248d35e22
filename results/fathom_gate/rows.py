"""Files of --benchmark_out as times by row, and which rows two of them have in common."""

import pathlib
from dataclasses import dataclass, field

import numpy as np

from fathom_runs import repetitions
from fathom_runs.context import MACHINE, SETTINGS
from fathom_runs.failures import failures
from fathom_runs.source import RunError

FASTEST = "min_us"  # a repetition's fastest sample, which noise adds least to


@dataclass(frozen=True)
class Rows:
    """A file's measured rows."""

    path: pathlib.Path
    context: dict
    times: dict[str, np.ndarray]  # microseconds of each repetition, in order
    failed: dict[str, str] = field(default_factory=dict)  # reason by row

    @property
    def words(self):
        """`2026-11-22T06:21, 1a2b3c4d5e-dirty, 9 repetitions`"""
        date, commit = (str(self.context.get(key, "")) for key in ("date", "git_commit"))
        dirty = "-dirty" if commit.endswith("-dirty") else ""
        counts = sorted({len(times) for times in self.times.values()})
        count = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else counts[0]
        counted = f"{count} repetition{'s' * (count != 1)}"
        return ", ".join(filter(None, (date[:16], commit[:10] + dirty, counted)))


def read(path, by):
    """Rows by their field `by` in microseconds, by real_time where a row lacks it. Throws RunError."""
    found = repetitions.read(path)
    times = {one.name: np.array(times_of(one, by)) for one in found.measured}
    return Rows(path, found.context, times, found.failed | failures(path))


def times_of(benchmark, by):
    values = benchmark.values(by) if by != "real_time" else []
    whole = len(values) == len(benchmark.entries) and min(values) > 0
    return values if whole else benchmark.times_us


def shared_block(base, new):
    """How many rounds are near in time, where results/ab took turns between the two; else none."""
    if not base.context.get("ab_id") or base.context["ab_id"] != new.context.get("ab_id"):
        return None
    return int(base.context["ab_block"])


def same_machine(base, other):
    """Refuses files of two machines; returns a note for each setting in which they differ."""
    for key in MACHINE:
        if base.context.get(key) != other.context.get(key):
            raise RunError(
                f"{other.path}: {key} is {other.context.get(key, 'none')}, in {base.path} it is "
                f"{base.context.get(key, 'none')}; expected runs of one machine"
            )
    return [
        f"{key} differs: {base.context.get(key, 'none')}, {other.context.get(key, 'none')}"
        for key in SETTINGS
        if base.context.get(key) != other.context.get(key)
    ]
