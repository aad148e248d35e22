"""Splits the time of an op by what bounds it, and scales each part to another machine.

The parts are those of the roofline model (Williams, Waterman and Patterson, CACM 52, 2009), with a second roof for the
last-level cache, and the rest.
"""

from collections import Counter
from dataclasses import dataclass

from fathom_predict.machine import Machine, nearest
from fathom_predict.run import MATRIX
from fathom_runs.source import RunError

COMPUTE, MEMORY, CACHE, OVERHEAD = PARTS = ("compute", "memory", "cache", "overhead")
ONEDNN = ("lstm",)  # types of the class MATRIX that run in oneDNN, which has no separate rate


@dataclass(frozen=True)
class Transfer:
    """From one machine to another, for steps of a precision and thread count."""

    here: Machine
    there: Machine
    precision: str
    threads: int

    def times(self, op):
        """Microseconds by part of a call here, and there."""
        is_matmul = op.op_class == MATRIX and op.op_type not in ONEDNN
        level = self.level(self.here, op.bytes)
        compute = op.flops / self.flops_rate(self.here, is_matmul, op.threads)
        traffic = op.bytes / bandwidth(self.here, level, op.threads) if level else 0
        # Computation and traffic overlap. Together they are at most the whole time.
        fit = min(1, op.us / (compute + traffic)) if compute + traffic else 1
        rest = op.us - fit * (compute + traffic)
        here = Counter({COMPUTE: fit * compute, OVERHEAD: rest})
        there = Counter(
            {
                COMPUTE: fit * compute * self.compute_ratio(is_matmul),
                OVERHEAD: rest * self.overhead_ratio,
            }
        )
        if level:
            other = self.level(self.there, op.bytes) or level
            here[level] = fit * traffic
            there[other] = fit * traffic * self.bandwidth_ratio(level, other)
        return here, there

    # --- ratios: time there / time here

    def compute_ratio(self, is_matmul):
        rates = (self.flops_rate(one, is_matmul, self.threads) for one in (self.here, self.there))
        return next(rates) / next(rates)

    def bandwidth_ratio(self, level, other):
        here, there = table(self.here, level), table(self.there, other)
        common = here.keys() & there.keys()
        if not common:
            raise RunError(
                f"{self.there.name}: no {level} bandwidth of {words(here)}, which {self.here.name} has; it has "
                f"{words(there)}; expected a common thread count"
            )
        near = nearest(common, self.threads)
        return here[near] / there[near]

    @property
    def overhead_ratio(self):
        return self.there.call_overhead_us / self.here.call_overhead_us

    # --- what both machines know

    def flops_rate(self, machine, is_matmul, threads):
        """FLOP/µs. The rate of matrix products counts only if both machines have it."""
        if is_matmul:
            both = [one.matmul(self.precision, self.threads) for one in (self.here, self.there)]
            if all(both) and (known := machine.matmul(self.precision, threads)):
                return known
        peak = machine.peak(self.precision, threads)
        if not peak:
            raise RunError(
                f"{machine.name}: no peak_gflop_per_s of {self.precision} and threads:{threads}, expected that of the op "
                "rows"
            )
        return peak

    def level(self, machine, size):
        """Where the bytes of a call lie. None: in the core's own cache, whose bandwidth is not known."""
        if size > machine.last_cache_bytes:
            return MEMORY
        if (
            size > machine.core_cache_bytes
            and self.here.cache_gb_per_s
            and self.there.cache_gb_per_s
        ):
            return CACHE
        return None


def bandwidth(machine, level, threads):
    """Byte/µs."""
    rates = table(machine, level)
    return 1e3 * rates[nearest(rates, threads)]


def table(machine, level):
    return machine.memory_gb_per_s if level == MEMORY else machine.cache_gb_per_s


def words(rates):
    return "threads " + ", ".join(map(str, sorted(rates)))
