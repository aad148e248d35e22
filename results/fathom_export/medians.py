"""One entry a benchmark, as a run without repetitions would have written it."""

import statistics

# As a single repetition has them.
SINGLE = {"run_type": "iteration", "repetitions": 1, "repetition_index": 0}
AGGREGATES_OWN = ("aggregate_name", "aggregate_unit")


def document(context, benchmarks, _):
    """Google Benchmark's own JSON."""
    return {"context": context, "benchmarks": [median(benchmark) for benchmark in benchmarks]}


def median(benchmark):
    """Of every number; iterations are those of all repetitions."""
    first = benchmark.entries[0]
    entry = {"name": benchmark.name, "run_name": benchmark.name} | first | SINGLE
    entry["name"] = benchmark.name
    for key in {"real_time": 0, "cpu_time": 0} | dict.fromkeys(sorted(benchmark.counters)):
        entry[key] = statistics.median(benchmark.values(key))
    entry["iterations"] = sum(benchmark.values("iterations"))
    for key in AGGREGATES_OWN:
        entry.pop(key, None)
    if len(set(benchmark.values("label"))) > 1:
        del entry["label"]
    return entry
