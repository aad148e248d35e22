"""Makes a Machine from the context and the op rows of a run. No time of a step counts."""

import re
import statistics

from fathom_predict.machine import Machine
from fathom_predict.run import STUDY
from fathom_runs.context import described, rate
from fathom_runs.peaks import MIN_SCALING
from fathom_runs.source import RunError, unpacked
from fathom_runs.words import plural

TINY_BYTES = 4096  # at most; a call on so few data is all overhead
DIGITS = 4
PRODUCTS = ("matmul", "quantized_matmul")  # op types


def machine_of(run):
    """Raises RunError and names what the run lacks."""
    sizes = cache_sizes(run)
    peaks, note = plausible(peak_rates(run.context), separate_cores(run.context))
    memory = {
        int(threads): gigas(value)
        for threads, value in matching(run.context, r"peak_bytes_cpu_threads(\d+)")
    }
    overhead = call_overhead_us(run)
    lacks = (
        ("peak_flops_cpu_... in its context", peaks, "a run with rows on the CPU"),
        ("peak_bytes_cpu_... in its context", memory, "a run with op rows on the CPU"),
        ("sizes of two levels of `caches` in its context", sizes, "a machine that reports them"),
        (
            f"hot elementwise op rows of at most {TINY_BYTES} bytes",
            overhead,
            "also op rows of autoenc, deepq or seq2seq",
        ),
    )
    for what, value, expected in lacks:
        if not value:
            raise RunError(
                f"{run.path}: no {what}, expected {expected}; {STUDY} makes a run with all that is needed, or a "
                "file of the machine (docs/predict.md) with --from"
            )
    cores = run.context.get("num_cpus")
    if type(cores) is not int or cores < 1:
        cores = max(threads for rates in peaks.values() for threads in rates)
    return Machine(
        f"{described(run.context)}, {plural(cores, 'CPU')}",
        separate_cores(run.context) or cores,
        peaks,
        memory,
        *sizes,
        overhead,
        matmul_rates(run),
        cache_rates(run, *sizes),
        source(run),
        note,
    )


def source(run):
    date, commit = (str(run.context.get(key, "unknown"))[:10] for key in ("date", "git_commit"))
    return f"{unpacked(run.path).name}, {date}, commit {commit}"


def matching(context, pattern):
    """Yields the groups of each matching key of the context, and its rate per second."""
    for key, value in context.items():
        found = re.fullmatch(pattern, key)
        if found and rate(value):
            yield *found.groups(), rate(value)


def gigas(value):
    return float(f"{value / 1e9:.{DIGITS}g}")


def peak_rates(context):
    """GFLOP/s by precision and thread count."""
    found = {}
    for threads, precision, value in matching(context, r"peak_flops_cpu_threads(\d+)_(\w+)"):
        found.setdefault(precision, {})[int(threads)] = gigas(value)
    return found


def separate_cores(context):
    """The number of physical cores. None if it is unknown."""
    found = re.search(r"on (\d+) cores?", str(context.get("machine_smt", "")))
    return found and int(found[1])


def plausible(peaks, cores):
    """Replaces a peak of two threads that is less than 1.8 times that of one, if there are two cores, by twice that.

    The peak is a loop in registers, and two cores share nothing that it needs. A lower ratio means that something else
    ran during the measurement. Returns the peaks and a note.
    """
    notes = []
    for precision, rates in peaks.items():
        one, two = rates.get(1), rates.get(2)
        if one and two and (cores or 0) >= 2 and two < 2 * MIN_SCALING * one:
            rates[2] = 2 * one
            notes.append(
                f"The run's {precision} peak of two threads, {two:g} GFLOP/s, is {two / one:.3g} times that of one: "
                "disturbed. Here it is twice that of one."
            )
    return peaks, " ".join(notes)


def cache_sizes(run):
    """Bytes of the last cache of a core and of the last-level cache. Empty if unknown."""
    sizes = {
        one.get("level"): one.get("size")
        for one in run.context.get("caches") or ()
        if isinstance(one, dict) and one.get("type") in ("Data", "Unified")
    }
    levels = sorted(level for level in sizes if isinstance(level, int))[-2:]
    return [sizes[level] for level in levels] if len(levels) == 2 else []


def call_overhead_us(run):
    """The fastest row of each elementwise op type on almost no data; of these, the median. None without such rows."""
    fastest = {}
    for op in run.ops:
        if op.op_class == "elementwise" and 0 < op.bytes <= TINY_BYTES:
            fastest[op.op_type] = min(op.us, fastest.get(op.op_type, op.us))
    return float(f"{statistics.median(fastest.values()):.{DIGITS}g}") if fastest else None


def matmul_rates(run):
    """GFLOP/s of LibTorch's fastest matrix product, by precision and thread count."""
    found = {}
    for op in run.ops:
        if op.op_type in PRODUCTS and op.flops:
            rates = found.setdefault(op.precision, {})
            rates[op.threads] = max(gigas(sustained(op.flops, op)), rates.get(op.threads, 0))
    return found


def cache_rates(run, core_cache, last_cache):
    """GB/s by thread count: the fastest op with data that fit in the last-level cache and not in a core's."""
    found = {}
    for op in run.ops:
        if 2 * core_cache <= op.bytes <= last_cache / 2:
            found[op.threads] = max(gigas(sustained(op.bytes, op)), found.get(op.threads, 0))
    return found


def sustained(amount, op):
    """Per second, by the mean time: the clock of the fastest sample is not one that steps get."""
    return amount / op.mean_us * 1e6
