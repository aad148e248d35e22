"""Reads a run: steps on the CPU with their op types, and the op rows that the steps run."""

from dataclasses import dataclass, field

from fathom_predict.machine import is_machine_file
from fathom_runs.benchmarks import read_fathom
from fathom_runs.names import TORCH, kind, step_of
from fathom_runs.rows import expect_names, row_of
from fathom_runs.source import RunError, text_of
from fathom_runs.steps import CALLS

OWN = "op types"
STUDY = "./fathom_bench --fathom_study=fathom --fathom_device=cpu --benchmark_out=study.json"
MATRIX = "matrix"  # class of op types whose products LibTorch gives to its BLAS


@dataclass(frozen=True)
class Step:
    name: str
    workload: str
    mode: str
    threads: int
    batch: int
    precision: str
    us: float  # the fastest sample
    flops: float  # of convolutions and matrix products; 0 if unknown


@dataclass(frozen=True)
class Op:
    """One shape of an op, run separately with hot buffers."""

    op_type: str
    op_class: str
    workload: str
    threads: int
    precision: str
    us: float  # the fastest sample
    mean_us: float
    flops: float = 0  # per call
    bytes: float = 0  # minimum traffic per call
    calls: dict[str, float] = field(default_factory=dict)  # per step, by counter of CALLS


@dataclass(frozen=True)
class Run:
    path: object
    context: dict
    steps: list[Step]
    left_out: int  # steps on a GPU, with ranks or on other kernels than LibTorch's
    types: dict[str, dict]  # by name of a step: microseconds by (op type, class)
    ops: list[Op]


def read(path):
    """Raises RunError."""
    text = text_of(path)
    if is_machine_file(text):
        raise RunError(
            f"{path}: is a machine file, which --on and --from name; expected a run as RUN; {STUDY} makes one"
        )
    found = read_fathom(path, text)
    expect_names(path, found.measured)
    steps, types, left_out = [], {}, 0
    for one in found.measured:
        if kind(one.name) not in ("step", "inside"):
            continue
        row = row_of(path, one, found.catalogue)
        if row["device"] != "cpu" or row["backend"] != TORCH or "ranks" in row:
            left_out += kind(one.name) == "step"
        elif kind(one.name) == "step":
            steps.append(step(one, row))
        else:
            name, op_type = step_of(one.name)
            types.setdefault(name, {})[op_type, row["op_class"]] = one.us
    return Run(path, found.context, steps, left_out, types, list(hot_ops(path, found)))


def step(benchmark, row):
    keys = ("name", "workload", "mode", "threads", "batch", "precision")
    return Step(*(row[key] for key in keys), fastest_us(benchmark), row.get("flops_per_step") or 0)


def hot_ops(path, found):
    for one in found.measured:
        if kind(one.name) != "op":
            continue
        row = row_of(path, one, found.catalogue)
        if row.get("in_steps") == 1 and (row["cache"], row["device"]) == ("hot", "cpu"):
            yield Op(
                *(row[key] for key in ("type", "op_class", "workload", "threads", "precision")),
                fastest_us(one),
                one.us,
                *(row.get(key, 0) * one.us / 1e6 for key in ("flops", "bytes")),
                {counter: row.get(counter) for counter in CALLS.values()},
            )


def fastest_us(benchmark):
    """The fastest sample: interference only slows a sample. Rows without samples have their mean time."""
    return benchmark.median("min_us", benchmark.us)


def types_of(step, run):
    """Microseconds by (op type, class) of the profiled step, and where they come from.

    A step that was not profiled has those of the same workload and mode, first with the same thread count, then with the
    nearest batch. None without such a step.
    """
    if step.name in run.types:
        return run.types[step.name], OWN
    same = [
        one
        for one in run.steps
        if one.name in run.types
        and (one.workload, one.mode, one.precision) == (step.workload, step.mode, step.precision)
    ]
    if not same:
        return None, ""
    near = min(same, key=lambda one: (one.threads != step.threads, abs(one.batch - step.batch)))
    return run.types[near.name], f"{OWN} of threads:{near.threads}/batch:{near.batch}"


def expect_steps(run):
    """Raises RunError if there is no step to predict."""
    if not run.steps:
        why = f" ({run.left_out} of other devices, kernels or with ranks)" if run.left_out else ""
        raise RunError(
            f"{run.path}: no step on the CPU with backend:torch{why}, expected rows like "
            f"vgg/train/device:cpu/threads:1/...; {STUDY} makes such a run"
        )
