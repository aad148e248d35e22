"""One entry per benchmark, as in a run without repetitions."""

import statistics

# Fields of a single repetition.
SINGLE = {"run_type": "iteration", "repetitions": 1, "repetition_index": 0}
AGGREGATE_FIELDS = ("aggregate_name", "aggregate_unit")


def document(context, benchmarks, _):
    """JSON of Google Benchmark."""
    return {"context": context, "benchmarks": [median(benchmark) for benchmark in benchmarks]}


def median(benchmark):
    """The median of every number. `iterations` is the sum over repetitions."""
    first = benchmark.entries[0]
    entry = {"name": benchmark.name, "run_name": benchmark.name} | first | SINGLE
    entry["name"] = benchmark.name
    for key in {"real_time": 0, "cpu_time": 0} | dict.fromkeys(sorted(benchmark.counters)):
        entry[key] = statistics.median(benchmark.values(key))
    entry["iterations"] = sum(benchmark.values("iterations"))
    for key in AGGREGATE_FIELDS:
        entry.pop(key, None)
    if len({one.get("label") for one in benchmark.entries}) > 1:
        entry.pop("label", None)
    return entry
