"""The page of --ranks: how efficient 8, 64 and 1,024 ranks are at 1 to 400 Gb/s, and what limits them.

RUN has training steps with ranks, and rows op/all_reduce/<workload>/bucket<i>, which give the sizes of the buckets. Files
of --phases hold profiled steps, whose backward pass is then known, files of --measured steps of several ranks with their
buckets, beside which the page shows the model's error.
"""

from fathom_ranks.page import page
from fathom_ranks.pairs import pairs
from fathom_ranks.rows import fewest_ranks, workloads
from fathom_runs.benchmarks import read
from fathom_runs.rows import expect_names

NETWORKS = {1: 25, 10: 25, 100: 5, 400: 5}  # latency in us by 10^9 bit/s


def page_of(arguments):
    """The Markdown of the page. Raises RunError."""
    run = of_file(arguments.file)
    profiled = {path: of_file(path).measured for path in arguments.phases}
    every = [row for rows in profiled.values() for row in rows]
    found = fewest_ranks(workloads(arguments.file, run.measured, every))
    measured = {path: pairs(path, of_file(path), every) for path in arguments.measured}
    networks = {gbits: arguments.latency_us or us for gbits, us in NETWORKS.items()}
    return page(arguments.file, run.context, found, networks, profiled, measured)


def of_file(path):
    run = read(path)
    expect_names(path, run.measured)
    return run
