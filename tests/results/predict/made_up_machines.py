"""Made-up machines and a run with known splits, for the tests in this folder."""

import json

import made_up_run as made_up
from made_up_rows import row

from fathom_predict.machine import Machine
from fathom_predict.model import Model
from fathom_predict.run import read

KIB = 2**10
MIB = 2**20
FILE = {  # the content of a machine file; GFLOP/s, GB/s, bytes and µs
    "name": "Here",
    "cores": 4,
    "peak_gflop_per_s": {"fp32": {"1": 100, "2": 200}},
    "memory_gb_per_s": {"1": 10},
    "core_cache_bytes": MIB,
    "last_cache_bytes": 32 * MIB,
    "call_overhead_us": 1,
}

# The same caches in a run's context.
CACHES = [
    {"type": "Data", "level": 1, "size": 32 * KIB, "num_sharing": 1},
    {"type": "Instruction", "level": 1, "size": 32 * KIB, "num_sharing": 1},
    {"type": "Unified", "level": 2, "size": MIB, "num_sharing": 1},
    {"type": "Unified", "level": 3, "size": 32 * MIB, "num_sharing": 8},
]

# Fields of machines that are faster than FILE in one respect.
FAST = {"peak_gflop_per_s": {"fp32": {1: 400, 2: 600}}}  # four times the peak, three times on two
WIDE = {"memory_gb_per_s": {1: 50}}  # five times the bandwidth
QUICK = {"call_overhead_us": 0.5}  # half the overhead
MATMUL = {"matmul_gflop_per_s": {"fp32": {1: 50}}}


def machine(**fields):
    """A Machine with the content of FILE; keys of `fields` replace it."""
    here = {"peak_gflop_per_s": {"fp32": {1: 100, 2: 200}}, "memory_gb_per_s": {1: 10}}
    return Machine(**FILE | here | fields)


def machine_file(path, **fields):
    path.write_text(json.dumps(FILE | fields))
    return path


def op(op_type, us, gflop=0.0, size=0.0, workload="vgg", threads=1, **fields):
    """A row of an op with `gflop` 10^9 FLOPs and `size` bytes per call, one call per training step."""
    name = made_up.op_name(op_type, workload, fields.pop("layer", "first"), threads=threads)
    rates = {"flops": gflop * 1e9, "bytes": size}
    rates = {key: value / us * 1e6 for key, value in rates.items() if value}
    return row(name, us, **{"calls_per_model_step": 1, "in_steps": 1} | rates | fields)


def step(us, types=None, workload="vgg", threads=1, batch=8, **fields):
    """A row of a training step, and rows of its op types, given as microseconds by type."""
    name = made_up.step_name(workload, threads=threads, batch=batch)
    rows = [row(name, us, **fields)]
    for op_type, time in (types or {}).items():
        rows.append(row(f"{name}/op:{op_type}", time, made_up.CLASSES[op_type], calls_per_step=1))
    return rows


def run_file(path, rows, **context):
    made = {"context": made_up.context(**context), "benchmarks": rows}
    return made_up.write(path, made)


def predictions(folder, rows, here=None, there=None):
    """Predictions of all steps of a run with these rows."""
    run = read(run_file(folder / "run.json", rows))
    model = Model(run, here or machine(), there or machine())
    return [model.predict(one) for one in run.steps]


# Op rows on almost no data, from which the overhead of a call is known: the median of 1 and 4 µs.
TINY = [op("relu", 3, size=400, min_us=1), op("mul", 5, size=4096, min_us=4)]


def predicted(folder, rows, there, here=None):
    """Microseconds and shares of the only step."""
    (one,) = predictions(folder, rows, here, machine(**there) if isinstance(there, dict) else there)
    return one
