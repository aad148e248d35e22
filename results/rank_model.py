#!/usr/bin/env python3
"""Predicts how training scales over more ranks and other networks than this machine has.

    ./fathom_bench --fathom_ranks=1 --benchmark_filter='/train/.*ranks:|all_reduce.*bucket' --benchmark_out=run.json
    results/rank_model.py run.json > docs/ranks-model.md

Prints a page in Markdown: how efficient 8, 64 and 1,024 ranks are at 1, 10, 100 and 400 Gb/s for each workload, and
what limits them. It needs training steps with ranks. The rows op/all_reduce/<workload>/bucket<i> give the sizes of
the buckets.

Exit codes: 0 the page was printed, 2 wrong usage or unusable input.
"""

import pathlib
import statistics
import sys
from dataclasses import dataclass

from fathom_runs.arguments import bounded, command_line
from fathom_runs.benchmarks import read
from fathom_runs.context import described
from fathom_runs.entries import MICROSECONDS
from fathom_runs.names import kind, tokens
from fathom_runs.rows import expect_names
from fathom_runs.source import RunError, unpacked
from fathom_runs.words import listed

RANKS = (8, 64, 1024)
NETWORKS = {1: 25, 10: 25, 100: 5, 400: 5}  # latency in us by 10^9 bit/s
BACKWARD = 2 / 3  # share of the step
FIRST_BUCKET = 2**20  # bytes, the limit of DistributedDataParallel
SAME_BYTES = 0.01  # relative difference of the buckets' bytes from those of the step's gradients
FACTS = {"num_cpus": "CPUs:", "date": "date", "git_commit": "commit"}  # of the context
ENOUGH = 90  # percent; from this efficiency on, computation limits

PAGE = """\
# What limits training on many ranks

These are predictions, not measurements. They start from the steps and buckets of [rows with ranks](ranks.md).
Machine: {source}. Such a file and this page come from

```
./fathom_bench --fathom_ranks=1 --benchmark_filter='/train/.*ranks:|all_reduce.*bucket' --benchmark_out={file}
results/rank_model.py {file} > docs/ranks-model.md
```

## The model

- **Step.** The time of a step without reduction is `local_step_us`, of rows with {measured}.
  The batch of a rank stays the same, so n ranks train n times as many samples per step.
- **Backward pass.** Its time is not known. It is taken as the last 2/3 of the step, with the update.
- **Buckets.** DistributedDataParallel reduces gradients in buckets (Li et al.: *PyTorch Distributed*, VLDB 2020).
  The op rows `bucket<i>` give their sizes. Without such rows that add up to the step's gradients ("assumed buckets"), the first
  bucket has at most 1 MiB and the others are equal. Gradients are computed at a constant rate, in bytes, over the backward
  pass. A bucket is ready when all of its gradients are computed. Buckets are reduced one after another.
- **Reduction.** A ring (Patarasuk and Yuan: *Bandwidth optimal all-reduce algorithms for clusters of workstations*, JPDC 2009)
  reduces s bytes over n ranks in 2 (n - 1) / n · s / bandwidth + 2 (n - 1) · latency.
- **Networks.** Each rank has a connection of its own. The latencies are assumed:
  {latencies}.
- **Exposed time.** The reductions that are left when the backward pass ends, until the end of the last bucket.
- **Efficiency.** step / (step + exposed time), in percent.
- **Limit.** `compute` from {enough} % on. Below, the larger part of the exposed time: `bandwidth` or `latency`.

The model leaves out the additions of the reduction, waiting for slow ranks, and other traffic. A step with several backward
passes counts as one with a single pass, and sparse gradients count as dense ones of the same bytes.
"""


@dataclass(frozen=True)
class Workload:
    name: str
    batch: str
    setting: str  # threads and ranks of its row
    step_us: float  # without reduction
    buckets: list[float]  # bytes, in the order of the reduction
    has_sizes: bool  # whether op rows gave the sizes of the buckets


# --- the model


def all_reduce_us(size, ranks, gbits, latency_us):
    """Time of a ring for `size` bytes: the part of the bandwidth, and the part of the latency."""
    bytes_per_us = gbits * 1e9 / 8 / 1e6
    return 2 * (ranks - 1) / ranks * size / bytes_per_us, 2 * (ranks - 1) * latency_us


def exposed_us(step_us, buckets, ranks, gbits, latency_us):
    """Time of the reductions after the backward pass: the part of the bandwidth, and the part of the latency."""
    ready = (1 - BACKWARD) * step_us  # the backward pass begins
    end = bandwidth = latency = 0.0
    for size in buckets:
        ready += BACKWARD * step_us * size / sum(buckets)
        times = all_reduce_us(size, ranks, gbits, latency_us)
        end = max(ready, end) + sum(times)
        # The exposed part of a reduction has the same mix as the whole.
        late = min(max(end - step_us, 0) / sum(times), 1)
        bandwidth += late * times[0]
        latency += late * times[1]
    return bandwidth, latency


def cell(workload, ranks, gbits, latency_us):
    """The efficiency in percent, and what limits it."""
    parts = exposed_us(workload.step_us, workload.buckets, ranks, gbits, latency_us)
    efficiency = 100 * workload.step_us / (workload.step_us + sum(parts))
    limit = "bandwidth" if parts[0] >= parts[1] else "latency"
    return f"{efficiency:.3g} {'compute' if efficiency >= ENOUGH else limit}"


# --- the input


def workloads(path, benchmarks):
    """A Workload for each name: its row with the fewest ranks, of these the one with the most threads. Raises RunError."""
    steps, sizes = {}, {}
    for one in benchmarks:
        parts = one.name.split("/")
        if "/ranks:" not in one.name or kind(one.name) == "other":
            continue
        ranks_of(path, one)
        if kind(one.name) == "step" and parts[1] == "train":
            steps.setdefault(parts[0], []).append(one)
        elif kind(one.name) == "op" and parts[1] == "all_reduce" and parts[3] != "gradients":
            # The sizes do not depend on the number of ranks.
            sizes.setdefault(parts[2], {})[parts[3]] = bytes_of(path, one)
    if not steps:
        raise RunError(
            f"{path}: no training step with ranks, expected rows like "
            "vgg/train/device:cpu/threads:1/ranks:1/... (--fathom_ranks=1)"
        )

    def order(row):
        return ranks_of(path, row), -int(tokens(row.name)["threads"])

    chosen = {name: min(rows, key=order) for name, rows in steps.items()}
    return [workload(path, row, sizes.get(name, {})) for name, row in chosen.items()]


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


def workload(path, benchmark, sizes):
    """The Workload of a row. `sizes` are bytes by the layer of the op row: bucket0, bucket1, ..."""
    step_us = positive(path, benchmark, "local_step_us")
    gradients = positive(path, benchmark, "gradient_bytes")
    count = max(1, round(positive(path, benchmark, "buckets")))
    buckets = [sizes.get(f"bucket{index}", 0) for index in range(count)]
    has_sizes = len(sizes) == count and abs(sum(buckets) / gradients - 1) <= SAME_BYTES
    found = tokens(benchmark.name)
    return Workload(
        benchmark.name.split("/")[0],
        found.get("batch", "unknown"),
        f"`threads:{found['threads']}/ranks:{found['ranks']}`",
        step_us,
        buckets if has_sizes else assumed(gradients, count),
        has_sizes,
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


# --- the page


def page(path, context, found, networks):
    facts = [described(context)]
    facts += [f"{words} {str(context[key])[:10]}" for key, words in FACTS.items() if key in context]
    text = PAGE.format(
        source=", ".join(facts),
        file=unpacked(path).name,
        measured=listed(dict.fromkeys(one.setting for one in found)),
        latencies=listed(f"{us:g} µs at {gbits} Gb/s" for gbits, us in networks.items()),
        enough=ENOUGH,
    )
    return text + "".join(section(found, ranks, networks) for ranks in RANKS)


def section(found, ranks, networks):
    """The table of a number of ranks."""
    heads = ["workload", "gradients, MB", "local step, ms", *(f"{one} Gb/s" for one in networks)]
    rows = [heads, ["---", *["--:"] * (len(heads) - 1)]]
    for one in found:
        sizes = [f"{sum(one.buckets) / 1e6:.3g}", f"{one.step_us / 1e3:.3g}"]
        cells = [cell(one, ranks, *network) for network in networks.items()]
        name = f"{one.name}, batch {one.batch}{'' if one.has_sizes else ', assumed buckets'}"
        rows.append([name, *sizes, *cells])
    lines = ["", f"## {ranks:,} ranks", "", *("| " + " | ".join(row) + " |" for row in rows)]
    return "\n".join(lines) + "\n"


def main():
    parser = command_line("rank_model.py", __doc__)
    parser.add_argument("file", type=pathlib.Path, metavar="FILE", help="JSON of --benchmark_out")
    parser.add_argument(
        "--latency-us",
        type=microseconds,
        metavar="US",
        help="latency of a message in all networks (25 at 1 and 10 Gb/s, 5 at 100 and 400 Gb/s)",
    )
    arguments = parser.parse_args()
    networks = {gbits: arguments.latency_us or us for gbits, us in NETWORKS.items()}
    try:
        run = read(arguments.file)
        expect_names(arguments.file, run.measured)
        found = workloads(arguments.file, run.measured)
    except RunError as error:
        print(f"rank_model: {error}", file=sys.stderr)
        return 2
    print(page(arguments.file, run.context, found, networks), end="")
    return 0


def microseconds(text):
    return bounded(text, 0, 1e6)


if __name__ == "__main__":
    sys.exit(main())
