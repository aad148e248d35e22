"""The list that customSmallerIsBetter and customBiggerIsBetter of github-action-benchmark read."""

import statistics

from fathom_export import counter


def document(_, benchmarks, arguments):
    """One entry per row that has the counter."""
    having = counter.found(arguments.file, benchmarks, arguments.counter)
    return [entry(benchmark, arguments.counter) for benchmark in having]


def entry(benchmark, name):
    values = benchmark.values(name)
    made = {
        "name": benchmark.name,
        "unit": counter.unit(name),
        "value": statistics.median(values),
        "extra": f"{name}, repetitions: {len(values)}\nreal_time: {benchmark.us} us",
    }
    return made | ({"range": f"± {statistics.stdev(values)}"} if len(values) > 1 else {})


def tool(name):
    """Name of the action's tool for a counter."""
    return "customBiggerIsBetter" if counter.bigger_is_better(name) else "customSmallerIsBetter"
