"""A run: one file of --benchmark_out with the times of its rows."""

from dataclasses import dataclass
from datetime import datetime

from fathom_runs.benchmarks import disturbed, read_fathom
from fathom_runs.context import date_of
from fathom_runs.names import kind, short

UNKNOWN = "unknown"  # a commit


@dataclass(frozen=True)
class Row:
    """Microseconds: median, fastest and slowest repetition."""

    us: float
    low: float
    high: float
    label: str  # the kernel that a library chose; of an op type, its class


@dataclass(frozen=True)
class Run:
    file: str  # path relative to the folder
    date: datetime
    context: dict
    rows: dict[str, Row]
    disturbed: tuple[int, int]  # disturbed steps, and all steps for which this is known

    @property
    def day(self):
        return f"{self.date:%Y-%m-%d}"

    @property
    def minute(self):
        return f"{self.date:%Y-%m-%d %H:%M}"

    @property
    def commit(self):
        """Ten digits of the commit, with `-dirty` if there were local changes."""
        digits, dash, dirty = str(self.context.get("git_commit", UNKNOWN)).partition("-")
        return digits[:10] + dash + dirty


def read(path, name):
    """Reads a file; `name` is its path relative to the folder. Raises RunError."""
    found = read_fathom(path)
    rows = {short(one.name): row_of(one) for one in found.measured}
    steps = [one for one in found.measured if kind(one.name) == "step"]
    return Run(name, date_of(path, found.context), found.context, rows, disturbed(steps))


def row_of(benchmark):
    return Row(benchmark.us, min(benchmark.times_us), max(benchmark.times_us), benchmark.label)
