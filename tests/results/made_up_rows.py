"""Rows with made-up times, in the form of Google Benchmark."""

import statistics

# Factors on the time of a row. Their median is 1.0, their mean is not.
REPETITIONS = (1.0, 1.03, 0.99, 1.01, 0.98)
RATES = ("items_per_second", "flops", "bytes", "flops_pct_peak", "bytes_pct_peak")
COUNTS = ("family_index", "per_family_instance_index", "repetitions", "repetition_index")
COUNTS += ("threads", "iterations")
AGGREGATES = {
    "mean": statistics.mean,
    "median": statistics.median,
    "stddev": statistics.stdev,
    "cv": lambda values: statistics.stdev(values) / (statistics.mean(values) or 1),
}


def row(name, us, label=None, busy=1.0, **fields):
    """A measured row; `busy` is the number of busy cores."""
    name += "/process_time/real_time"
    made = {
        "name": name,
        "family_index": 0,
        "per_family_instance_index": 0,
        "run_name": name,
        "run_type": "iteration",
        "repetitions": 1,
        "repetition_index": 0,
        "threads": 1,
        "iterations": 5,
        "real_time": us,
        "cpu_time": us * busy,
        "time_unit": "us",
    } | fields
    return made | {"label": label} if label else made


def repeated(rows, factors=REPETITIONS):
    """Rows as --benchmark_repetitions writes them, and aggregates. Factors multiply times and divide rates."""
    for row in rows:
        numbers = [
            key for key, value in row.items() if not isinstance(value, str) and key not in COUNTS
        ]
        values = {key: [row[key]] * len(factors) for key in numbers}
        for key in ("real_time", "cpu_time"):
            values[key] = [row[key] * factor for factor in factors]
        for key in set(RATES) & row.keys():
            values[key] = [row[key] / factor for factor in factors]
        same = row | {"repetitions": len(factors)}
        for index in range(len(factors)):
            yield same | {"repetition_index": index} | {key: values[key][index] for key in numbers}
        del same["repetition_index"]
        for name, law in AGGREGATES.items():
            yield same | {
                "name": f"{row['name']}_{name}",
                "run_type": "aggregate",
                "aggregate_name": name,
                "aggregate_unit": "percentage" if name == "cv" else "time",
                "iterations": len(factors),
            } | {key: law(values[key]) for key in numbers}
