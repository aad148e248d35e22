"""A run: one file of --benchmark_out, with the times of its rows."""

from dataclasses import dataclass
from datetime import datetime

from fathom_runs.benchmarks import read_ours
from fathom_runs.context import date_of
from fathom_runs.names import short


@dataclass(frozen=True)
class Row:
    """Microseconds: of repetitions the median, the fastest and the slowest."""

    us: float
    low: float
    high: float
    label: str  # what a library chose to run; of an op type its class


@dataclass(frozen=True)
class Run:
    file: str  # below the folder
    date: datetime
    context: dict
    rows: dict[str, Row]

    @property
    def day(self):
        return f"{self.date:%Y-%m-%d}"

    @property
    def minute(self):
        return f"{self.date:%Y-%m-%d %H:%M}"

    @property
    def commit(self):
        """Ten digits, and whether there were local changes."""
        digits, dash, dirty = str(self.context.get("git_commit", "unknown")).partition("-")
        return digits[:10] + dash + dirty


def read(path, name):
    """Throws RunError."""
    found = read_ours(path)
    rows = {short(one.name): row_of(one) for one in found.measured}
    return Run(name, date_of(path, found.context), found.context, rows)


def row_of(benchmark):
    return Row(benchmark.us, min(benchmark.times_us), max(benchmark.times_us), benchmark.label)
