"""The reader: a file of --benchmark_out as benchmarks with all their repetitions."""

import statistics
from dataclasses import dataclass

from fathom_runs.catalogue import Catalogue, catalogue_of
from fathom_runs.entries import MICROSECONDS, OWN, checked, is_measured
from fathom_runs.names import is_ours
from fathom_runs.source import EXPECTED, RunError, document, text_of


@dataclass(frozen=True)
class Benchmark:
    """`entries` has one entry a repetition, or the median alone where a file holds aggregates only."""

    name: str
    entries: list[dict]

    @property
    def times_us(self):
        return [MICROSECONDS[entry["time_unit"]] * entry["real_time"] for entry in self.entries]

    @property
    def us(self):
        return statistics.median(self.times_us)

    @property
    def cpu_us(self):
        """CPU time of all threads, the median of the repetitions."""
        return statistics.median(
            MICROSECONDS[entry["time_unit"]] * entry["cpu_time"] for entry in self.entries
        )

    @property
    def label(self):
        """The last repetition's."""
        return self.entries[-1].get("label", "")

    @property
    def counters(self):
        """Names, in the order of the file."""
        return dict.fromkeys(key for entry in self.entries for key in entry if key not in OWN)

    def values(self, key):
        """The repetitions' values of a field. A repetition without the field has none."""
        return [entry[key] for entry in self.entries if key in entry]

    def median(self, key, otherwise=None):
        values = self.values(key)
        return statistics.median(values) if values else otherwise


@dataclass(frozen=True)
class Benchmarks:
    """The content of one file."""

    context: dict
    measured: list[Benchmark]  # in the file's order
    failed: dict[str, str]  # reason by name; other programs leave such entries in the file
    catalogue: Catalogue | None = None  # of files that `read_ours` read


def read(path):
    """A file of any program on Google Benchmark. Throws RunError."""
    found = parsed(path, text_of(path))
    if not found.measured:
        raise RunError(f"{path}: no measured row, {EXPECTED}")
    return found


def read_ours(path, text=None):
    """A file of fathom_bench with its catalogue; `text` is the file's where it is known. Throws RunError."""
    found = parsed(path, text_of(path) if text is None else text)
    if not any(is_ours(benchmark.name) for benchmark in found.measured):
        raise RunError(
            f"{path}: none of its {len(found.measured)} rows is a workload's or an op's, expected "
            "names as vgg/train/device:cpu/... (README, Names)"
        )
    return Benchmarks(
        found.context, found.measured, found.failed, catalogue_of(path, found.context)
    )


def parsed(path, text):
    context, entries = document(path, text)
    repetitions, medians, failed = {}, {}, {}
    for entry in entries:
        name = entry["run_name"]
        if not is_measured(entry):
            failed[name] = str(entry.get("error_message") or entry.get("skip_message") or "")
        elif entry.get("run_type") != "aggregate":
            repetitions.setdefault(name, []).append(checked(path, entry))
        elif entry.get("aggregate_name") == "median":
            medians[name] = [checked(path, entry)]
    found = medians | repetitions
    names = dict.fromkeys(entry["run_name"] for entry in entries)
    measured = [Benchmark(name, found[name]) for name in names if name in found]
    # A row shorter than the clock's tick has a time of 0, which dashboards would believe.
    measured = [benchmark for benchmark in measured if benchmark.us > 0]
    return Benchmarks(context, measured, failed)
