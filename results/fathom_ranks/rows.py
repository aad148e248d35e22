"""Reads what the model needs from rows: steps, the buckets of their gradients, phases, and reductions."""

import statistics
from dataclasses import dataclass

from fathom_ranks.model import ASSUMED, Phases
from fathom_runs.benchmarks import Benchmark
from fathom_runs.entries import MICROSECONDS
from fathom_runs.names import TORCH, kind, tokens
from fathom_runs.source import RunError

FIRST_BUCKET = 2**20  # bytes, the limit of DistributedDataParallel
SAME_BYTES = 0.01  # relative difference of the buckets' bytes from those of the step's gradients
PHASES = ("forward_us", "backward_us", "update_us")


@dataclass(frozen=True)
class Workload:
    name: str
    batch: str
    threads: int
    ranks: int
    step_us: float  # without reduction
    buckets: list[float]  # bytes, in the order of the reduction
    has_sizes: bool  # whether op rows gave the sizes of the buckets
    phases: Phases
    has_phases: bool  # whether a profiled step gave them
    row: Benchmark

    @property
    def words(self):
        assumed = ["buckets"] * (not self.has_sizes) + ["phases"] * (not self.has_phases)
        name = f"{self.name}, batch {self.batch}"
        return f"{name}, assumed {' and '.join(assumed)}" if assumed else name


def workloads(path, benchmarks, profiled):
    """All training steps with ranks, in the order of the file. Raises RunError if there are none."""
    steps, sizes = [], {}
    for one in benchmarks:
        parts = one.name.split("/")
        if "/ranks:" not in one.name or kind(one.name) == "other":
            continue
        ranks_of(path, one)
        if kind(one.name) == "step" and parts[1] == "train":
            steps.append(one)
        elif kind(one.name) == "op" and parts[1] == "all_reduce" and parts[3] != "gradients":
            # The sizes do not depend on the number of ranks.
            sizes.setdefault(parts[2], {})[parts[3]] = bytes_of(path, one)
    if not steps:
        raise RunError(
            f"{path}: no training step with ranks, expected rows like "
            "vgg/train/device:cpu/threads:1/ranks:1/... (--fathom_ranks=1)"
        )
    return [workload(path, one, sizes.get(one.name.split("/")[0], {}), profiled) for one in steps]


def fewest_ranks(found):
    """For each name the step with the fewest ranks, of these the one with the most threads."""
    chosen = {}
    for one in sorted(found, key=lambda one: (one.ranks, -one.threads)):
        chosen.setdefault(one.name, one)
    return [chosen[name] for name in dict.fromkeys(one.name for one in found)]


def ranks_of(path, benchmark):
    ranks = int(tokens(benchmark.name)["ranks"])
    if ranks < 1:
        raise RunError(f"{path}: {benchmark.name} has ranks:0, expected a number of at least 1")
    return ranks


def bytes_of(path, benchmark):
    """Bytes of a reduction: its rate times its time, the median over repetitions."""
    positive(path, benchmark, "algbw")
    return statistics.median(
        entry["algbw"] * entry["real_time"] * MICROSECONDS[entry["time_unit"]] / 1e6
        for entry in benchmark.entries
        if "algbw" in entry
    )


def workload(path, benchmark, sizes, profiled):
    """The Workload of a row. `sizes` are bytes by the layer of the op row: bucket0, bucket1, ..."""
    step_us = positive(path, benchmark, "local_step_us")
    gradients = positive(path, benchmark, "gradient_bytes")
    count = max(1, round(positive(path, benchmark, "buckets")))
    buckets = [sizes.get(f"bucket{index}", 0) for index in range(count)]
    has_sizes = len(sizes) == count and abs(sum(buckets) / gradients - 1) <= SAME_BYTES
    found = tokens(benchmark.name)
    near = nearest(benchmark.name, [benchmark, *profiled])
    return Workload(
        benchmark.name.split("/")[0],
        found.get("batch", "unknown"),
        int(found["threads"]),
        int(found["ranks"]),
        step_us,
        buckets if has_sizes else assumed(gradients, count),
        has_sizes,
        phases_of(near) if near else ASSUMED,
        near is not None,
        benchmark,
    )


def positive(path, benchmark, key):
    value = benchmark.median(key)
    if value is None or value <= 0:
        raise RunError(f"{path}: {key} of {benchmark.name} is {value}, expected more than 0")
    return value


def assumed(gradients, count):
    """Sizes of the buckets: at most 1 MiB in the first one, the same in all others."""
    if count == 1:
        return [gradients]
    first = min(FIRST_BUCKET, gradients / count)
    return [first] + [(gradients - first) / (count - 1)] * (count - 1)


# --- phases


def nearest(name, benchmarks):
    """Of the profiled steps of the same training, that with its threads and the nearest batch. None without any."""
    wanted = tokens(name)
    same = [
        one
        for one in benchmarks
        if is_profiled(one.name.split("/")[0] == name.split("/")[0], one)
        and all(tokens(one.name).get(key) == wanted.get(key) for key in ("device", "precision"))
    ]

    def distance(one):
        found = tokens(one.name)
        far = abs(int(found.get("batch", 0)) - int(wanted.get("batch", 0)))
        return found["threads"] != wanted["threads"], far

    return min(same, key=distance, default=None)


def is_profiled(is_same, benchmark):
    return (
        is_same
        and kind(benchmark.name) == "step"
        and benchmark.name.split("/")[1] == "train"
        and tokens(benchmark.name).get("backend") == TORCH
        and (benchmark.median("backward_us") or 0) > 0
    )


def phases_of(benchmark):
    times = [benchmark.median(key, 0) for key in PHASES]
    return Phases(times[0] / sum(times), times[1] / sum(times))
