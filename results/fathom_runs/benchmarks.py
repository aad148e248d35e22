"""Reads a file of --benchmark_out into benchmarks with all their repetitions."""

import pathlib
import statistics
from dataclasses import dataclass, field

from fathom_runs.catalogue import Catalogue, catalogue_of
from fathom_runs.disturbed import is_disturbed
from fathom_runs.entries import (
    MICROSECONDS,
    STANDARD_FIELDS,
    checked,
    is_measured,
    number,
    reason_of,
)
from fathom_runs.names import is_fathom_row
from fathom_runs.source import EXPECTED, RunError, document, text_of
from fathom_runs.words import plural


@dataclass(frozen=True)
class Benchmark:
    """`entries` holds one entry per repetition. If the file holds aggregates only, it holds the median."""

    name: str
    entries: list[dict]
    path: pathlib.Path | None = field(default=None, compare=False)  # for errors

    @property
    def times_us(self):
        return [MICROSECONDS[entry["time_unit"]] * entry["real_time"] for entry in self.entries]

    @property
    def us(self):
        return statistics.median(self.times_us)

    @property
    def cpu_us(self):
        """CPU time of all threads, in microseconds: the median over repetitions."""
        return statistics.median(
            MICROSECONDS[entry["time_unit"]] * number(self.path, entry, "cpu_time")
            for entry in self.entries
        )

    @property
    def label(self):
        """The label of the last repetition."""
        return self.entries[-1].get("label", "")

    @property
    def counters(self):
        """Names of the counters, in the order of the file."""
        return dict.fromkeys(
            key for entry in self.entries for key in entry if key not in STANDARD_FIELDS
        )

    def values(self, key):
        """Numbers in a field, one per repetition that has the field. Raises RunError."""
        return [number(self.path, entry, key) for entry in self.entries if key in entry]

    def median(self, key, otherwise=None):
        values = self.values(key)
        return statistics.median(values) if values else otherwise

    @property
    def steps(self):
        """Timed steps of a repetition. None of an aggregate, whose `iterations` are repetitions."""
        is_aggregate = self.entries[0].get("run_type") == "aggregate"
        return None if is_aggregate else self.median("iterations")

    @property
    def is_disturbed(self):
        """Whether half of the repetitions or more are disturbed. None if that is unknown."""
        known = [flag for flag in map(is_disturbed, self.entries) if flag is not None]
        return 2 * sum(known) >= len(known) if known else None


@dataclass(frozen=True)
class Benchmarks:
    """The content of one file."""

    context: dict
    measured: list[Benchmark]  # in the file's order
    failed: dict[str, str]  # reason by name; empty in files of fathom_bench
    catalogue: Catalogue | None = None  # set by `read_fathom` only
    aggregates_only: bool = False  # whether no row has its repetitions


def read(path):
    """Reads a file of any program that uses Google Benchmark. Raises RunError."""
    found = parsed(path, text_of(path))
    expect_measured(path, found)
    return found


def expect_measured(path, found):
    if not found.measured and found.aggregates_only:
        raise RunError(f"{path}: holds aggregates without medians only, {EXPECTED}")
    if not found.measured:
        raise RunError(f"{path}: no measured row, {EXPECTED}")


def read_fathom(path, text=None):
    """Reads a file of fathom_bench with its catalogue. `text` is the content, if already read. Raises RunError."""
    found = parsed(path, text_of(path) if text is None else text)
    expect_measured(path, found)
    if not any(is_fathom_row(benchmark.name) for benchmark in found.measured):
        raise RunError(
            f"{path}: no row of fathom_bench among its {plural(len(found.measured), 'row')}, expected "
            "names like vgg/train/device:cpu/... (docs/results.md)"
        )
    return Benchmarks(
        found.context, found.measured, found.failed, catalogue_of(path, found.context)
    )


def disturbed(benchmarks):
    """Returns the number of disturbed benchmarks, and the number for which this is known."""
    known = [one.is_disturbed for one in benchmarks if one.is_disturbed is not None]
    return sum(known), len(known)


def parsed(path, text):
    context, entries = document(path, text)
    repetitions, medians, failed = {}, {}, {}
    for entry in entries:
        name = entry["run_name"]
        if not is_measured(entry):
            failed[name] = reason_of(entry)
        elif entry.get("run_type") != "aggregate":
            repetitions.setdefault(name, []).append(checked(path, entry))
        elif entry.get("aggregate_name") == "median":
            medians[name] = [checked(path, entry)]
    found = medians | repetitions
    names = dict.fromkeys(entry["run_name"] for entry in entries)
    measured = [Benchmark(name, found[name], path) for name in names if name in found]
    # A benchmark shorter than the clock's resolution has a time of 0. It is not a measurement.
    measured = [benchmark for benchmark in measured if benchmark.us > 0]
    is_aggregate = [entry.get("run_type") == "aggregate" for entry in entries]
    only = any(is_aggregate) and not repetitions
    return Benchmarks(context, measured, failed, aggregates_only=only)
