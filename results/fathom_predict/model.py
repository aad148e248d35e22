"""Predicts the time of steps on another machine. docs/predict.md explains the model."""

from collections import Counter
from dataclasses import dataclass

from fathom_predict.machine import Machine, nearest
from fathom_predict.parts import OVERHEAD, PARTS, Transfer
from fathom_predict.run import Op, Run, Step, types_of
from fathom_runs.catalogue import FRAMEWORK
from fathom_runs.steps import step_sums

OP_ROWS, FLOPS, NOTHING = "op rows", "FLOPs of the step", "its time only"


@dataclass(frozen=True)
class TypeTime:
    """An op type inside a step."""

    op_type: str
    here_us: float
    parts: dict[str, float]  # microseconds there, by part

    @property
    def there_us(self):
        return sum(self.parts.values())


@dataclass(frozen=True)
class Prediction:
    step: Step
    types: list[TypeTime]  # as long as the step, together
    source: str  # what is known about the step's op types

    @property
    def us(self):
        return sum(one.there_us for one in self.types)

    @property
    def shares(self):
        """Percent of the predicted time by part."""
        return {part: 100 * sum(one.parts[part] for one in self.types) / self.us for part in PARTS}

    @property
    def bound(self):
        """The part with the largest share."""
        shares = self.shares
        return max(PARTS, key=shares.get)


class Model:
    """Predictions of the steps of a run, which was recorded on `here`, for `there`."""

    def __init__(self, run: Run, here: Machine, there: Machine):
        self.run, self.here, self.there = run, here, there
        self.sums = {}  # by precision and thread count: `op_sums`

    def missing(self, step):
        """Why there is no prediction of a step; empty if there is one."""
        setting = f"{step.precision} and threads:{step.threads}"
        for machine in (self.here, self.there):
            if not machine.peak(step.precision, step.threads):
                return f"{machine.name} has no peak_gflop_per_s of {setting}"
            if step.threads > machine.cores:
                return f"{machine.name} has {machine.cores} cores, not the {step.threads} of threads:{step.threads}"
        return ""

    def predict(self, step):
        pieces, source = self.pieces(step)
        whole = sum(us for _, us, _ in pieces)
        types = []
        for op_type, us, (here, there) in pieces:
            us *= step.us / whole
            scale = us / sum(here.values())
            types.append(TypeTime(op_type, us, {part: scale * there[part] for part in PARTS}))
        return Prediction(step, types, source)

    def pieces(self, step):
        """What the step consists of: op type, microseconds, and times by part here and there. And what they come from."""
        transfer = Transfer(self.here, self.there, step.precision, step.threads)
        sums = self.op_sums(transfer)
        types, source = types_of(step, self.run)
        if sums and types:
            return [
                (op_type, us, times(step, op_type, op_class, sums, transfer))
                for (op_type, op_class), us in types.items()
                if us > 0
            ], source
        rows = [
            (key[2], sum(found[0].values()), found)
            for key, found in sums.items()
            if key[:2] == (step.workload, step.mode)
        ]
        if rows:
            return rows, OP_ROWS
        whole = Op(
            "step", "", step.workload, step.threads, step.precision, step.us, step.us, step.flops
        )
        return [("step", step.us, transfer.times(whole))], FLOPS if step.flops else NOTHING

    def op_sums(self, transfer):
        """`summed` of the op rows of the transfer's precision."""
        key = transfer.precision, transfer.threads
        if key not in self.sums:
            ops = [one for one in self.run.ops if one.precision == transfer.precision]
            self.sums[key] = summed(with_threads(ops, transfer.threads), transfer)
        return self.sums[key]


def times(step, op_type, op_class, sums, transfer):
    """Times by part, here and there, of an op type in a step. Only their ratios count.

    They are those of its op rows in this workload and mode, else in all workloads, else of all op rows of its class. Time
    between ops, views, and a type without any of these rows are overhead.
    """
    if op_class != FRAMEWORK:
        for key in ((step.workload, step.mode, op_type), (op_type,), ("class", op_class)):
            if key in sums:
                return sums[key]
    return {OVERHEAD: 1}, Counter({OVERHEAD: transfer.overhead_ratio})


def summed(ops, transfer):
    """Sums of the times by part of op rows, here and there, in microseconds per step.

    By (workload, mode, op type), by (op type,), and by ("class", class of the op type).
    """

    def keys(op):
        return lambda mode: ((op.workload, mode, op.op_type), (op.op_type,), ("class", op.op_class))

    times = [(op, transfer.times(op)) for op in ops]
    here, there = (
        step_sums((op.calls, parts[place], keys(op)) for op, parts in times) for place in (0, 1)
    )
    return {key: (here[key], there[key]) for key in here}


def with_threads(ops, threads):
    """Of each workload, the op rows with the nearest thread count."""
    counts = {}
    for op in ops:
        counts.setdefault(op.workload, set()).add(op.threads)
    return [op for op in ops if op.threads == nearest(counts[op.workload], threads)]
