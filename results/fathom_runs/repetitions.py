"""The benchmarks of a file with all their repetitions."""

import statistics
from dataclasses import dataclass

from fathom_runs.source import NO_COUNTERS, RunError, document, is_number, text_of

MICROSECONDS = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}
MEASURED = ("real_time", "cpu_time", "iterations")
NO_COUNTERS = NO_COUNTERS | {"label", "iterations"}


@dataclass(frozen=True)
class Benchmark:
    """`entries` are a repetition each, or the median alone where a file holds aggregates only."""

    name: str
    entries: list[dict]

    @property
    def times_us(self):
        return [MICROSECONDS[entry["time_unit"]] * entry["real_time"] for entry in self.entries]

    @property
    def us(self):
        return statistics.median(self.times_us)

    @property
    def label(self):
        """The last repetition's."""
        return str(self.entries[-1].get("label", ""))

    @property
    def counters(self):
        return {key for entry in self.entries for key in entry if key not in NO_COUNTERS}

    def values(self, key):
        return [entry[key] for entry in self.entries if key in entry]


@dataclass(frozen=True)
class Benchmarks:
    context: dict
    measured: list[Benchmark]  # in the file's order
    failed: dict[
        str, str
    ]  # the reason by name, where a program other than ours leaves such entries


def read(path):
    """Throws RunError."""
    context, entries = document(path, text_of(path))
    repetitions, medians, failed = {}, {}, {}
    for entry in entries:
        name = entry["run_name"]
        if entry.get("error_occurred") or entry.get("skipped"):
            failed[name] = str(entry.get("error_message") or entry.get("skip_message") or "")
        elif entry.get("run_type") != "aggregate":
            repetitions.setdefault(name, []).append(checked(path, entry))
        elif entry.get("aggregate_name") == "median":
            medians[name] = [checked(path, entry)]
    found = medians | repetitions
    names = dict.fromkeys(entry["run_name"] for entry in entries)
    measured = [Benchmark(name, found[name]) for name in names if name in found]
    # What is shorter than the clock's tick has no time, and zero is one that dashboards believe.
    measured = [benchmark for benchmark in measured if benchmark.us > 0]
    if not measured:
        raise RunError(f"{path}: no measured row, expected the JSON of --benchmark_out")
    return Benchmarks(context, measured, failed)


def checked(path, entry):
    """The entry; throws where a time or a counter is none."""
    if str(entry.get("time_unit")) not in MICROSECONDS:
        raise wrong(path, entry, "time_unit", f"one of {', '.join(MICROSECONDS)}")
    for key in sorted(entry.keys() - NO_COUNTERS | set(MEASURED)):
        value, measured = entry.get(key), key in MEASURED
        if not is_number(value) or measured and value < 0:
            raise wrong(path, entry, key, "a number from 0 on" if measured else "a number")
    return entry


def wrong(path, entry, key, expected):
    found = str(entry.get(key, "missing"))[:40]
    return RunError(f"{path}: {key} of {entry['run_name']} is {found!r}, expected {expected}")
