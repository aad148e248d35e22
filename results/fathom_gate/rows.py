"""Reads files of --benchmark_out as times by row, and compares their machines."""

import pathlib
import statistics
from dataclasses import dataclass, field

import numpy as np

from fathom_runs import benchmarks, context
from fathom_runs.entries import MEAN, wrong
from fathom_runs.failures import failures
from fathom_runs.names import kind
from fathom_runs.program import command
from fathom_runs.source import RunError, is_number, text_of
from fathom_runs.words import disturbed_words

NOTHING = '{"context": {}, "benchmarks": []}'
MAX_ROUNDS = 1000  # of results/ab


@dataclass(frozen=True)
class Rows:
    """The measured rows of a file."""

    path: pathlib.Path
    context: dict
    times: dict[str, np.ndarray]  # microseconds by repetition or round, NaN for a missing one
    failed: dict[str, str] = field(default_factory=dict)  # reason by row
    disturbed: dict[str, bool] = field(default_factory=dict)  # by row, if known
    content: object = None  # equal in copies of a file

    @property
    def words(self):
        """Date, commit and repetitions: `2026-11-22T06:21, 1a2b3c4d5e-dirty, 9 repetitions`"""
        date, commit = (str(self.context.get(key, "")) for key in ("date", "git_commit"))
        dirty = "-dirty" if commit.endswith("-dirty") else ""
        counts = sorted(set(map(self.repetitions, self.times))) or [0]
        count = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else counts[0]
        counted = f"{count} repetition{'s' * (count != 1)}"
        return ", ".join(filter(None, (date[:16], commit[:10] + dirty, counted)))

    def us(self, name):
        """The median time of a row; 0 if the run lacks it."""
        if name not in self.times:
            return 0.0
        return statistics.median(us for us in self.times[name].tolist() if us == us)  # no NaN

    def repetitions(self, name):
        return int(np.count_nonzero(~np.isnan(self.times[name])))

    @property
    def disturbed_words(self):
        """A sentence about disturbed steps and ops, or an empty string."""
        found = {"step": [], "op": []}
        for name, is_disturbed in self.disturbed.items():
            found.get(kind(name), []).append(is_disturbed)
        return disturbed_words(*((sum(flags), len(flags)) for flags in found.values()))


def read(paths, by):
    """Reads files that are compared. The times of a row are of the same field in all files. Raises RunError."""
    files = [benchmarks.parsed(path, text(path)) for path in paths]
    same = {}
    for found in files:
        for one in found.measured:
            same.setdefault(one.name, []).append(one)
    fields = {name: field_of(rows, by) for name, rows in same.items()}
    return [rows_of(path, found, fields) for path, found in zip(paths, files)]


def expect_other_runs(files):
    """Raises RunError if a file is given twice, also as a copy. A run says nothing about its own noise."""
    for index, one in enumerate(files):
        for other in files[:index]:
            is_file = one.path.resolve() == other.path.resolve()
            if is_file or one.times and one.content == other.content:
                what = "the same file" if is_file else "a copy of the same run"
                raise RunError(f"{one.path}: is {what} as {other.path}, expected another run")


def text(path):
    """The content of a file. A run of which every row failed has an errors file only."""
    return text_of(path) if path.exists() or not failures(path) else NOTHING


def rows_of(path, found, fields):
    failed = found.failed | failures(path)
    if found.aggregates_only:
        raise RunError(
            f"{path}: holds aggregates only, expected every repetition "
            "(without --benchmark_report_aggregates_only)"
        )
    if not failed:
        benchmarks.expect_measured(path, found)
    is_ab = "ab_id" in found.context
    times = {
        one.name: times_of(one, fields[one.name], rounds_of(path, one) if is_ab else None)
        for one in found.measured
    }
    flags = {one.name: one.is_disturbed for one in found.measured}
    disturbed = {name: flag for name, flag in flags.items() if flag is not None}
    content = (found.context, [one.entries for one in found.measured])
    return Rows(path, found.context, times, failed, disturbed, content)


def field_of(rows, by):
    """The field that these rows of one name are compared by: `by`, or the mean if a repetition of one lacks it."""
    found = [entry.get(by) for row in rows for entry in row.entries]
    return by if all(is_number(value) and value > 0 for value in found) else MEAN


def times_of(benchmark, key, rounds=None):
    """Microseconds of the field `key` by repetition, or by round. NaN for a missing round and for a time of 0.

    A time of 0 is below the clock's resolution and has no logarithm.
    """
    values = benchmark.times_us if key == MEAN else benchmark.values(key)
    rounds = list(range(len(values))) if rounds is None else rounds
    times = np.full(max(rounds) + 1, np.nan)
    times[rounds] = values
    times[times == 0] = np.nan
    return times


def rounds_of(path, benchmark):
    """The round of each repetition in a file of results/ab. Raises RunError."""
    for entry in benchmark.entries:
        found = entry.get("repetition_index")
        if type(found) is not int or not 0 <= found < MAX_ROUNDS:
            raise wrong(path, entry, "repetition_index", f"a round from 0 to {MAX_ROUNDS - 1}")
    return [entry["repetition_index"] for entry in benchmark.entries]


def shared_block(base, new):
    """Number of consecutive rounds that are compared. None if the two files are not from one run of results/ab.

    Raises RunError.
    """
    if not base.context.get("ab_id") or base.context["ab_id"] != new.context.get("ab_id"):
        return None
    block = str(base.context.get("ab_block"))
    if not block.isdecimal() or not 0 < int(block) <= MAX_ROUNDS:
        raise RunError(f"{base.path}: ab_block is {block!r}, expected a file of {command('ab')}")
    return int(block)


def same_machine(base, other):
    """Raises RunError if the machines differ. Returns a note for each setting that differs."""
    context.same_machine(other.path, other.context, base.path, base.context)
    return [
        f"{key} differs: {base.context.get(key, 'none')}, {other.context.get(key, 'none')}"
        for key in context.differing_settings(base.context, other.context)
    ]
