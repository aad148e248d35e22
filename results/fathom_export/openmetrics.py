"""OpenMetrics text for Prometheus: a gauge for the time and one for each counter."""

import re
import statistics

from fathom_export import counter, run
from fathom_runs.context import date_of
from fathom_runs.names import is_fathom_row, short, tokens

# By a counter's unit: its word in names, the base unit that replaces it, and how many of it are one base unit.
BASE_UNITS = {
    "us": ("us", "seconds", 1e6),
    "byte": ("bytes", "bytes", 1),
    "byte/s": ("bytes", "bytes_per_second", 1),
    "FLOP/s": ("flops", "flop_per_second", 1),
    "%": ("pct", "ratio", 100),
    "J": ("j", "joules", 1),
    "W": ("w", "watts", 1),
    "MHz": ("mhz", "hertz", 1e-6),
}


def document(context, benchmarks, arguments):
    """The text. Without times of its own: node_exporter and the Pushgateway refuse them."""
    machine = {"machine": arguments.machine or run.machine(context)}
    start = date_of(arguments.file, context).timestamp()
    lines = gauge(
        "run_start_time_seconds",
        "seconds",
        "Start of the run. The labels are its versions and settings.",
        [(machine | run.texts(context), start)],
    )
    times = [(benchmark, benchmark.us) for benchmark in benchmarks]
    lines += of_rows("real_time_us", "real_time", times, machine)
    for name in dict.fromkeys(arguments.counter):
        having = counter.found(arguments.file, benchmarks, name)
        values = [(benchmark, statistics.median(benchmark.values(name))) for benchmark in having]
        lines += of_rows(name, name, values, machine)
    return "\n".join([*lines, "# EOF"]) + "\n"


def of_rows(name, field, values, machine):
    """A gauge in base units, from pairs of a benchmark and its value."""
    word, unit, share = BASE_UNITS.get(counter.unit(name), ("", "", 1))
    parts = [part for part in name.split("_") if part != word] + ([unit] if unit else [])
    meaning = f"{field} in docs/results.md, the median of the repetitions."
    samples = [(machine | labels(benchmark.name), value / share) for benchmark, value in values]
    return gauge("_".join(parts), unit, meaning, samples)


def labels(name):
    """The row's name, and of a row of fathom_bench its tokens."""
    return {"row": short(name)} | (tokens(name) if is_fathom_row(name) else {})


def gauge(name, unit, meaning, samples):
    """The lines of a gauge, from pairs of labels and a value."""
    name = "fathom_" + re.sub(r"\W", "_", name, flags=re.ASCII)
    lines = [f"# TYPE {name} gauge", *([f"# UNIT {name} {unit}"] if unit else [])]
    lines.append(f"# HELP {name} {escaped(meaning)}")
    for of_sample, value in samples:
        pairs = ",".join(f'{key}="{escaped(text)}"' for key, text in of_sample.items())
        lines.append(f"{name}{{{pairs}}} {value}")
    return lines


def escaped(text):
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
