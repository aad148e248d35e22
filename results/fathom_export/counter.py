"""Finds a counter in a file. Knows its unit and whether bigger is better."""

import difflib
import re

from fathom_runs.source import RunError

# Units by regular expression for the name; the first match counts.
UNITS = {
    "items_per_second": "samples/s",
    "(prefill_)?tokens_per_second": "tokens/s",
    "decode_ms_per_token": "ms",
    "audio_seconds_per_second": "s/s",
    "flops": "FLOP/s",
    "bytes|algbw|busbw": "byte/s",
    "flops_per_step": "FLOP",
    "pct_.*|.*_pct(_.*)?": "%",
    ".*_us": "us",
    ".*_bytes": "byte",
    ".*_j": "J",
    ".*_w": "W",
    ".*_mhz": "MHz",
}
BIGGER_IS_BETTER = ".*_per_second|flops|bytes|algbw|busbw|.*_pct_peak|scaling_pct"
BIGGER_IS_BETTER += "|gpu_busy_pct|gpu_clock_mhz"


def found(path, benchmarks, counter):
    """The benchmarks that have the counter. Raises RunError if there are none."""
    having = [benchmark for benchmark in benchmarks if counter in benchmark.counters]
    if having:
        return having
    known = sorted(set().union(*(benchmark.counters for benchmark in benchmarks)))
    near = difflib.get_close_matches(counter.lower(), known, n=1) or known
    expected = f"expected {', '.join(near)}" if near else "the file has no counter"
    raise RunError(f"{path}: no row has the counter {counter!r}, {expected}")


def unit(counter):
    fitting = (unit for name, unit in UNITS.items() if re.fullmatch(name, counter))
    return next(fitting, "")


def bigger_is_better(counter):
    return bool(re.fullmatch(BIGGER_IS_BETTER, counter))
