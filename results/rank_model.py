#!/usr/bin/env python3
"""Predicts how training scales over more ranks and other networks than this machine has.

    ./fathom_bench --fathom_ranks=1 --benchmark_filter='/train/.*ranks:|all_reduce.*bucket' --benchmark_out=run.json
    results/rank_model.py run.json --phases steps.json --measured ranks.json > docs/ranks-model.md

Prints a page in Markdown: how efficient 8, 64 and 1,024 ranks are at 1, 10, 100 and 400 Gb/s for each workload, and
what limits them. It needs training steps with ranks. The rows op/all_reduce/<workload>/bucket<i> give the sizes of
the buckets. Files of --phases hold profiled steps, whose backward pass is then known, files of --measured steps of several
ranks with their buckets, beside which the page shows the model's error.

Exit codes: 0 the page was printed, 2 wrong usage or unusable input.
"""

import pathlib
import sys

from fathom_ranks.page import page
from fathom_ranks.pairs import pairs
from fathom_ranks.rows import fewest_ranks, workloads
from fathom_runs.arguments import bounded, command_line
from fathom_runs.benchmarks import read
from fathom_runs.program import run
from fathom_runs.rows import expect_names
from fathom_runs.source import RunError

NETWORKS = {1: 25, 10: 25, 100: 5, 400: 5}  # latency in us by 10^9 bit/s


def main():
    parser = command_line("rank_model.py", __doc__)
    files = {"type": pathlib.Path, "metavar": "FILE"}
    parser.add_argument("file", help="JSON of --benchmark_out", **files)
    parser.add_argument(
        "--phases", nargs="+", default=[], help="files with steps of --fathom_profile", **files
    )
    parser.add_argument(
        "--measured", nargs="+", default=[], help="files with steps of several ranks", **files
    )
    parser.add_argument(
        "--latency-us",
        type=microseconds,
        metavar="US",
        help="latency of a message in all networks (25 at 1 and 10 Gb/s, 5 at 100 and 400 Gb/s)",
    )
    arguments = parser.parse_args()
    networks = {gbits: arguments.latency_us or us for gbits, us in NETWORKS.items()}
    try:
        measured_run = of_file(arguments.file)
        profiled = {path: of_file(path).measured for path in arguments.phases}
        every = [row for rows in profiled.values() for row in rows]
        found = fewest_ranks(workloads(arguments.file, measured_run.measured, every))
        measured = {path: pairs(path, of_file(path), every) for path in arguments.measured}
    except RunError as error:
        print(f"rank_model: {error}", file=sys.stderr)
        return 2
    print(page(arguments.file, measured_run.context, found, networks, profiled, measured), end="")
    return 0


def of_file(path):
    run = read(path)
    expect_names(path, run.measured)
    return run


def microseconds(text):
    return bounded(text, 0, 1e6)


if __name__ == "__main__":
    run(main)
