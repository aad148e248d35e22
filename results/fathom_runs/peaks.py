"""The measured peaks of a machine as its roofline, and warnings about them."""

import re
from typing import NamedTuple

from fathom_runs.context import peaks, rate
from fathom_runs.precisions import arithmetic

MAX_CHANGE = 0.1  # of a measured peak; smaller differences are noise
MIN_SCALING = 0.9  # peak of n threads, divided by n times the peak of one thread


class Roof(NamedTuple):
    """The roofline model (Williams, Waterman and Patterson, CACM 52, 2009)."""

    flops: float  # FLOP/s
    bytes: float  # byte/s

    @property
    def ridge(self):
        """FLOPs per byte at which both peaks are the limit. Below it, the memory is."""
        return self.flops / self.bytes

    def attainable(self, intensity):
        """FLOP/s of the roof at an intensity in FLOPs per byte."""
        return min(self.flops, intensity * self.bytes)


def flops_peak(context, device, threads, precision):
    """The measured FLOP/s of a setting. None if unknown."""
    return rate(context.get(f"peak_flops_{device}_threads{threads}_{arithmetic(precision)}"))


def roof(context, device, threads, precision):
    """The measured roof of a setting. None if one of its peaks is unknown."""
    flops = flops_peak(context, device, threads, precision)
    memory = rate(context.get(f"peak_bytes_{device}_threads{threads}"))
    return Roof(flops, memory) if flops and memory else None


def low_peaks(context):
    """Yields a sentence for each thread count with a FLOP/s peak far below that number times the peak of one thread."""
    for key, value in context.items():
        parts = re.fullmatch(r"peak_flops_cpu_threads(\d+)_(\w+)", key)
        if not parts:
            continue
        threads, precision = parts.groups()
        one, many = rate(context.get(f"peak_flops_cpu_threads1_{precision}")), rate(value)
        if one and many and many / one < MIN_SCALING * int(threads):
            yield (
                f"The measured {precision} peak of {threads} threads is only {many / one:.3g} times the peak of one "
                f"thread, so shares of the peak with {threads} threads are shares of this lower peak."
            )


def differing_peaks(contexts):
    """Yields a sentence for each peak that differs too much between files of one machine. `contexts` by path."""
    for key in dict.fromkeys(key for one in contexts.values() for key in peaks(one)):
        found = {path: rate(one.get(key)) for path, one in contexts.items()}
        found = {path: value for path, value in found.items() if value}
        if not found or max(found.values()) <= (1 + MAX_CHANGE) * min(found.values()):
            continue
        slow, fast = min(found, key=found.get), max(found, key=found.get)
        yield (
            f"{key} of {fast} is {found[fast] / found[slow]:.3g} times that of {slow}: one of the runs was disturbed, or "
            "the files are of two machines, which --fathom_machine_name tells apart."
        )
