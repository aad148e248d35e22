#!/usr/bin/env python3
"""Compares each step with the sum of its ops, which were timed separately.

    ./fathom_bench --fathom_threads=1 --fathom_profile --benchmark_out=run.json
    results/op_sums.py run.json

Prints a Markdown table with one line per step on the CPU:

- the time of the step
- the sum of its ops: the time of each op row times its calls per step
- the ratio of the sum to the step
- if the file has cold rows (--fathom_cache=hot,cold), the same ratio with them; ops without a cold row count as hot
- the share of the profiled step in op types without op rows
- the share of the profiled step between ops
- the op types with the largest difference between their time in the profiled step and their sum

The last three columns need the rows of --fathom_profile. Of several files, each row may be in one only.
"""

import collections
import pathlib
import sys

from fathom_runs.arguments import command_line
from fathom_runs.benchmarks import read
from fathom_runs.catalogue import FRAMEWORK
from fathom_runs.markdown import plain, table_row
from fathom_runs.names import TORCH, kind, setting, tokens
from fathom_runs.program import run
from fathom_runs.rows import expect_names
from fathom_runs.source import RunError
from fathom_runs.steps import CALLS, step_ops

MIN_SHARE = 0.1  # percent of the step; op types below it are not listed


def split(benchmarks):
    """Returns steps by setting and mode, their op types, and op rows by setting.

    If a step was run with several batch sizes, the first one is used. Op shapes have this batch size, unless the user
    gave another one with --fathom_batch.
    """
    steps, inside = {}, collections.defaultdict(dict)
    for one in sorted(benchmarks, key=lambda one: kind(one.name) == "inside"):  # after the steps
        found = tokens(one.name)
        if kind(one.name) not in ("step", "inside") or found["device"] != "cpu":
            continue
        if found["backend"] != TORCH:
            continue  # its step runs other kernels than the op rows of `step_ops`
        key = setting(one.name), one.name.split("/")[1]
        if kind(one.name) == "step":
            steps.setdefault(key, (found["batch"], one.us))
        elif key in steps and found["batch"] == steps[key][0]:
            inside[key][found["op"]] = one
    return steps, inside, step_ops(benchmarks)


def sums_by_type(ops, mode, cache):
    """Sum of the op rows of each op type, in microseconds per step. An op without a cold row counts with its hot one."""
    times = collections.Counter()
    for (op_type, *_), caches in ops.items():
        if row := caches.get(cache, caches.get("hot")):
            times[op_type] += row.us * row.median(CALLS[mode], 0)
    return times


def line(key, step, types, sums, cold):
    """One line of the table. `types` are the rows of the profiled step, `sums` and `cold` those of `sums_by_type`."""
    (workload, *_), mode = key
    profiled = sum(row.us for row in types.values())
    shares = {op_type: 100 * row.us / profiled for op_type, row in types.items()}
    ops = {op_type for op_type, row in types.items() if row.label != FRAMEWORK}
    without = {op_type: shares[op_type] for op_type in ops - set(sums)}
    between = sum(shares[op_type] for op_type in types.keys() - ops)
    gaps = {
        op_type: 100 * (types[op_type].us - sums[op_type]) / step for op_type in ops & set(sums)
    }
    named = [f"{op_type} {share:.1f}" for op_type, share in largest(without)]
    differing = [f"{op_type} {gap:+.1f}" for op_type, gap in largest(gaps)[:3]]
    total = sum(sums.values())
    cells = [
        plain(f"{workload}/{mode}"),
        f"{step / 1e3:.4g}",
        f"{total / 1e3:.4g}",
        f"{total / step:.3f}",
        f"{sum(cold.values()) / step:.3f}" if cold else "",
        ", ".join(named) or ("none" if types else ""),
        f"{between:.1f}" if types else "",
        ", ".join(differing) or ("none" if types else ""),
    ]
    return table_row(cells)


def largest(shares):
    """The pairs above MIN_SHARE, largest first."""
    named = [pair for pair in shares.items() if abs(pair[1]) >= MIN_SHARE]
    return sorted(named, key=lambda pair: -abs(pair[1]))


def table(benchmarks):
    """The lines of the table. Steps without op rows are left out. Raises RunError if none is left."""
    steps, inside, separate = split(benchmarks)
    lines = [
        "| step | ms | sum of its ops, ms | ratio | ratio, cold | % in op types without rows | % between ops "
        "| time in the step minus sum, % of the step |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for key, (_, step) in steps.items():
        common, mode = key
        ops = separate.get(common, {})
        hot = sums_by_type(ops, mode, "hot")
        has_cold = any("cold" in caches for caches in ops.values())
        cold = sums_by_type(ops, mode, "cold") if has_cold else {}
        if hot:
            lines.append(line(key, step, inside[key], hot, cold))
    if len(lines) == 2:
        raise RunError("the files hold no step on the CPU with its op rows, expected both")
    return lines


def rows_of(files):
    """The rows of all files. Raises RunError if two files have the same row: a step is compared with its own op types."""
    rows, owners = [], {}
    for file in files:
        found = read(file).measured
        expect_names(file, found)
        for row in found:
            if row.name in owners:
                raise RunError(
                    f"{file}: has {row.name}, as {owners[row.name]} does; expected each row in one file"
                )
            owners[row.name] = file
            rows.append(row)
    return rows


def main():
    parser = command_line("op_sums.py", __doc__)
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="RUN.json")
    try:
        lines = table(rows_of(parser.parse_args().files))
    except RunError as error:
        print(f"op_sums: {error}", file=sys.stderr)
        return 2
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    run(main)
