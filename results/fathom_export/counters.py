"""The list of github-action-benchmark's customSmallerIsBetter and customBiggerIsBetter."""

import statistics

from fathom_export import counter


def document(_, benchmarks, arguments):
    """Rows that have the counter."""
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
    """The action's name for what is charted."""
    return "customBiggerIsBetter" if counter.bigger_is_better(name) else "customSmallerIsBetter"
