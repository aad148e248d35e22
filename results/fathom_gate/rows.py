"""Files of --benchmark_out as times by row, and whether two of them are of one machine."""

import pathlib
from dataclasses import dataclass, field

import numpy as np

from fathom_runs import benchmarks, context
from fathom_runs.failures import failures

FASTEST = "min_us"  # a repetition's fastest sample: interference only slows a sample


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
    found = benchmarks.read(path)
    times = {one.name: np.array(times_of(one, by)) for one in found.measured}
    return Rows(path, found.context, times, found.failed | failures(path))


def times_of(benchmark, by):
    values = benchmark.values(by) if by != "real_time" else []
    whole = len(values) == len(benchmark.entries) and min(values) > 0
    return values if whole else benchmark.times_us


def shared_block(base, new):
    """How many rounds results/ab ran close in time. None where it did not run these files."""
    if not base.context.get("ab_id") or base.context["ab_id"] != new.context.get("ab_id"):
        return None
    return int(base.context["ab_block"])


def same_machine(base, other):
    """Refuses files of two machines; returns a note for each setting in which they differ."""
    context.same_machine(other.path, other.context, base.path, base.context)
    return [
        f"{key} differs: {base.context.get(key, 'none')}, {other.context.get(key, 'none')}"
        for key in context.SETTINGS
        if base.context.get(key) != other.context.get(key)
    ]
