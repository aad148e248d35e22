"""Bencher Metric Format: the time and any counters of each benchmark, between the least and the most of its repetitions."""

import statistics

from fathom_export import counter

NANOSECONDS = 1000  # in a microsecond: Bencher's latency is in nanoseconds


def document(_, benchmarks, arguments):
    """Measures by benchmark; those of one name on Bencher's side are created when they first come."""
    measures = {
        benchmark.name: {"latency": metric([NANOSECONDS * us for us in benchmark.times_us])}
        for benchmark in benchmarks
    }
    for name in arguments.counter:
        for benchmark in counter.found(arguments.file, benchmarks, name):
            measures[benchmark.name][name] = metric(benchmark.values(name))
    return measures


def metric(values):
    """A single value has no bounds."""
    bounds = {"lower_value": min(values), "upper_value": max(values)} if len(values) > 1 else {}
    return {"value": statistics.median(values)} | bounds
