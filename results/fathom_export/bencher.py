"""Bencher Metric Format: time and counters of each benchmark, bounded by their minimum and maximum over repetitions."""

import statistics

from fathom_export import counter

NANOSECONDS = 1000  # per microsecond; Bencher's latency is in nanoseconds


def document(_, benchmarks, arguments):
    """Measures by benchmark. Bencher creates a measure when its name first appears."""
    measures = {
        benchmark.name: {"latency": metric([NANOSECONDS * us for us in benchmark.times_us])}
        for benchmark in benchmarks
    }
    for name in arguments.counter:
        for benchmark in counter.found(arguments.file, benchmarks, name):
            measures[benchmark.name][name] = metric(benchmark.values(name))
    return measures


def metric(values):
    """The median with its bounds. A single value has no bounds."""
    bounds = {"lower_value": min(values), "upper_value": max(values)} if len(values) > 1 else {}
    return {"value": statistics.median(values)} | bounds
