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
import json
import pathlib
import sys

from fathom_runs.names import tokens

COUNTS = {"train": "calls_per_model_step", "infer": "calls_per_inference"}
BACKENDS = ("native", "torch")  # that the workloads may run
LEAST_SHARE = 0.1  # percent of the step from which on a type is named


def place(backend, in_steps):
    """Of an op's rows the one of the lowest place is what steps run.

    Rows say so themselves; before they did, it was our own kernel where there was one.
    """
    return -1 if in_steps == 1 else BACKENDS.index(backend)


def measured(rows):
    """Rows on the CPU: aggregates' medians where there are repetitions."""
    for row in rows:
        if row["run_type"] == "iteration" and row["repetitions"] > 1:
            continue
        if row["run_type"] == "aggregate" and row["aggregate_name"] != "median":
            continue
        if tokens(row["run_name"]).get("device") == "cpu":
            yield row


def setting(name):
    """What rows of a step and of its ops have in common."""
    found = tokens(name)
    return found["threads"], found["precision"]


def split(rows):
    """Steps by (workload, mode, setting), their op types, and ops alone by (workload, setting).

    Of several batch sizes the first counts: that of the ops' shapes, unless --fathom_batch says otherwise.
    """
    steps, inside, alone = {}, collections.defaultdict(dict), collections.defaultdict(dict)
    for row in rows:
        parts = row["run_name"].split("/")
        if parts[0] == "fixture":
            continue
        if parts[0] == "op":
            found = tokens(row["run_name"])
            if found["backend"] in BACKENDS and found["cache"] == "hot":
                op = alone[parts[2], setting(row["run_name"])].setdefault(tuple(parts[1:5]), {})
                op[place(found["backend"], row.get("in_steps"))] = row
            continue
        key = (parts[0], parts[1], setting(row["run_name"]))
        found = tokens(row["run_name"])
        batch, _ = steps.setdefault(key, (found.get("batch"), row["real_time"]))
        if "op" in found and found.get("batch") == batch:
            inside[key][found["op"]] = row
    return steps, inside, alone


def times_alone(ops, mode):
    """Microseconds a step of each op type."""
    times = collections.Counter()
    for (op_type, *_), places in ops.items():
        row = places[min(places)]
        times[op_type] += row["real_time"] * row.get(COUNTS[mode], 0)
    return times


def line(key, step, types, alone):
    """One line of the table."""
    workload, mode, _ = key
    shares = {
        op_type: 100 * row["real_time"] / sum(other["real_time"] for other in types.values())
        for op_type, row in types.items()
    }
    classes = {op_type: row["label"] for op_type, row in types.items()}
    ops = {op_type for op_type in types if classes[op_type] != "framework"}
    without = {op_type: shares[op_type] for op_type in ops - set(alone)}
    between = sum(shares[op_type] for op_type in types if classes[op_type] == "framework")
    gaps = {
        op_type: 100 * (types[op_type]["real_time"] - alone[op_type]) / step
        for op_type in ops & set(alone)
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


def table(rows):
    """The lines of the table; steps of which no op was run alone are left out."""
    steps, inside, alone = split(measured(rows))
    lines = [
        "| step | ms | its ops alone, ms | ratio | % in types without rows | % between ops "
        "| inside less alone, % of the step |",
        "|---|---|---|---|---|---|---|",
    ]
    for key, (_, step) in steps.items():
        workload, mode, common = key
        times = times_alone(alone.get((workload, common), {}), mode)
        if times:
            lines.append(line(key, step, inside[key], times))
    return lines


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="RUN.json")
    rows = []
    for file in parser.parse_args().files:
        try:
            rows += json.loads(file.read_text())["benchmarks"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            sys.exit(f"{file}: {error!r}, expected the JSON of --benchmark_out")
    lines = table(rows)
    if len(lines) == 2:
        sys.exit("no step on the CPU with rows of its ops, expected both in the files")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
