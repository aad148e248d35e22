#!/usr/bin/env python3
"""The ops of a step run alone, added up, beside the step itself.

    ./fathom_bench --fathom_threads=1 --fathom_profile --benchmark_out=run.json
    results/op_sums.py run.json

Prints a Markdown table with a line for each workload's step on the CPU: its time, the times of its recorded ops times
their counts, what the watched step spent in op types that have no rows, between ops, and in the op types that take most
longer (or shorter) inside the step than alone. The last three need the rows of --fathom_profile.
"""

import argparse
import collections
import pathlib
import sys

from fathom_runs.benchmarks import read
from fathom_runs.catalogue import FRAMEWORK
from fathom_runs.names import kind, setting, tokens
from fathom_runs.source import RunError
from fathom_runs.steps import BACKENDS, CALLS, backend_rank

LEAST_SHARE = 0.1  # percent of the step from which on a type is named


def split(benchmarks):
    """Steps by setting and mode, their op types, and ops alone by setting.

    Of several batch sizes the first counts: that of the ops' shapes, unless --fathom_batch says otherwise.
    """
    steps, inside, alone = {}, collections.defaultdict(dict), collections.defaultdict(dict)
    for one in benchmarks:
        parts, found = one.name.split("/"), tokens(one.name)
        if kind(one.name) == "other" or found["device"] != "cpu":
            continue
        if kind(one.name) == "op":
            if found["backend"] in BACKENDS and found["cache"] == "hot":
                rows = alone[setting(one.name)].setdefault(tuple(parts[1:5]), {})
                rows[backend_rank(found["backend"], one.median("in_steps"))] = one
            continue
        key = setting(one.name), parts[1]
        batch, _ = steps.setdefault(key, (found.get("batch"), one.us))
        if "op" in found and found.get("batch") == batch:
            inside[key][found["op"]] = one
    return steps, inside, alone


def times_alone(ops, mode):
    """Microseconds a step of each op type."""
    times = collections.Counter()
    for (op_type, *_), rows in ops.items():
        row = rows[min(rows)]
        times[op_type] += row.us * row.median(CALLS[mode], 0)
    return times


def line(key, step, types, alone):
    """One line of the table."""
    (workload, *_), mode = key
    watched = sum(row.us for row in types.values())
    shares = {op_type: 100 * row.us / watched for op_type, row in types.items()}
    ops = {op_type for op_type, row in types.items() if row.label != FRAMEWORK}
    without = {op_type: shares[op_type] for op_type in ops - set(alone)}
    between = sum(shares[op_type] for op_type in types.keys() - ops)
    gaps = {
        op_type: 100 * (types[op_type].us - alone[op_type]) / step for op_type in ops & set(alone)
    }
    named = [f"{op_type} {share:.1f}" for op_type, share in largest(without)]
    moved = [f"{op_type} {gap:+.1f}" for op_type, gap in largest(gaps)[:3]]
    whole = sum(alone.values())
    cells = [
        f"{workload}/{mode}",
        f"{step / 1e3:.4g}",
        f"{whole / 1e3:.4g}",
        f"{whole / step:.3f}",
        ", ".join(named) or ("none" if types else ""),
        f"{between:.1f}" if types else "",
        ", ".join(moved) or ("none" if types else ""),
    ]
    return "| " + " | ".join(cells) + " |"


def largest(shares):
    """Those that are worth a name, the largest first."""
    named = [pair for pair in shares.items() if abs(pair[1]) >= LEAST_SHARE]
    return sorted(named, key=lambda pair: -abs(pair[1]))


def table(benchmarks):
    """The lines of the table; steps of which no op was run alone are left out."""
    steps, inside, alone = split(benchmarks)
    lines = [
        "| step | ms | its ops alone, ms | ratio | % in types without rows | % between ops "
        "| inside less alone, % of the step |",
        "|---|---|---|---|---|---|---|",
    ]
    for key, (_, step) in steps.items():
        common, mode = key
        times = times_alone(alone.get(common, {}), mode)
        if times:
            lines.append(line(key, step, inside[key], times))
    return lines


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="RUN.json")
    benchmarks = []
    for file in parser.parse_args().files:
        try:
            benchmarks += read(file).measured
        except RunError as error:
            sys.exit(f"op_sums: {error}")
    lines = table(benchmarks)
    if len(lines) == 2:
        sys.exit("op_sums: no step on the CPU with rows of its ops, expected both in the files")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
