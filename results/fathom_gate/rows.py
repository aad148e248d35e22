"""Reads files of --benchmark_out as times by row, and compares their machines."""

import pathlib
from dataclasses import dataclass, field

import numpy as np

from fathom_runs import benchmarks, context
from fathom_runs.failures import failures
from fathom_runs.names import kind
from fathom_runs.words import disturbed_words

FASTEST = "min_us"  # fastest sample of a repetition; interference only slows a sample


@dataclass(frozen=True)
class Rows:
    """The measured rows of a file."""

    path: pathlib.Path
    context: dict
    times: dict[str, np.ndarray]  # microseconds, one value per repetition, in order
    failed: dict[str, str] = field(default_factory=dict)  # reason by row
    disturbed: dict[str, bool] = field(default_factory=dict)  # by row, if known

    @property
    def words(self):
        """Date, commit and repetitions: `2026-11-22T06:21, 1a2b3c4d5e-dirty, 9 repetitions`"""
        date, commit = (str(self.context.get(key, "")) for key in ("date", "git_commit"))
        dirty = "-dirty" if commit.endswith("-dirty") else ""
        counts = sorted({len(times) for times in self.times.values()})
        count = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else counts[0]
        counted = f"{count} repetition{'s' * (count != 1)}"
        return ", ".join(filter(None, (date[:16], commit[:10] + dirty, counted)))

    @property
    def disturbed_words(self):
        """A sentence about disturbed steps and ops, or an empty string."""
        found = {"step": [], "op": []}
        for name, is_disturbed in self.disturbed.items():
            found.get(kind(name), []).append(is_disturbed)
        return disturbed_words(*((sum(flags), len(flags)) for flags in found.values()))


def read(path, by):
    """Reads the times of field `by`, or real_time if a row lacks it. Raises RunError."""
    found = benchmarks.read(path)
    times = {one.name: np.array(times_of(one, by)) for one in found.measured}
    flags = {one.name: one.is_disturbed for one in found.measured}
    disturbed = {name: flag for name, flag in flags.items() if flag is not None}
    return Rows(path, found.context, times, found.failed | failures(path), disturbed)


def times_of(benchmark, by):
    """Microseconds, one value per repetition: field `by`, or real_time if a repetition lacks it."""
    values = benchmark.values(by) if by != "real_time" else []
    is_complete = len(values) == len(benchmark.entries) and min(values) > 0
    return values if is_complete else benchmark.times_us


def shared_block(base, new):
    """Number of consecutive rounds that are compared. None if the two files are not from one run of results/ab."""
    if not base.context.get("ab_id") or base.context["ab_id"] != new.context.get("ab_id"):
        return None
    return int(base.context["ab_block"])


def same_machine(base, other):
    """Raises RunError if the machines differ. Returns a note for each setting that differs."""
    context.same_machine(other.path, other.context, base.path, base.context)
    return [
        f"{key} differs: {base.context.get(key, 'none')}, {other.context.get(key, 'none')}"
        for key in context.SETTINGS
        if base.context.get(key) != other.context.get(key)
    ]
