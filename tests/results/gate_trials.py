#!/usr/bin/env python3
"""Measures false alarms and missed changes of results/ab on this machine.

    tests/results/gate_trials.py same A/fathom_bench B/fathom_bench --trials 10
    tests/results/gate_trials.py planted build/default/fathom_bench --trials 5

`same` compares two builds of one commit on the forty rows of gate_rows.txt. Every SLOWER row is a false alarm.
`planted` compares a build with itself, with a delay in one op of one step (planted_delay.cc, preloaded) of 3, 5, 10
and 30 % of the step. Only this step may be SLOWER, and the op must be its first cause. Both use one thread and nine
rounds; `planted` gives noisy steps up to 45 rounds.
"""

import argparse
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent
ROOT = TESTS.parents[1]
OPTIONS = ["--fathom_device=cpu", "--fathom_threads=1", "--benchmark_min_time=0.2"]
LEVELS = (3, 5, 10, 30)
# Step, operator of LibTorch, op type, and calls per step.
TARGETS = [
    ("deepq/train", "aten::relu", "relu", 4),
    ("memnet/train", "aten::bmm", "batched_matmul", 18),
    ("autoenc/train", "aten::exp", "exp", 2),
    ("deepq/infer", "aten::relu", "relu", 4),
    ("memnet/infer", "aten::_softmax", "softmax", 3),
]


def compare(a, b, folder, rows, rounds=(), options=()):
    """Runs results/ab and returns the JSON of results/gate."""
    expression = f"^({'|'.join(rows)})/.*backend:torch/"
    command = [ROOT / "results/ab", a, b, "-o", folder, *rounds]
    command += ["--", *OPTIONS, *options, f"--benchmark_filter={expression}"]
    ended = subprocess.run(command, stdout=subprocess.DEVNULL)
    if ended.returncode not in (0, 1):
        sys.exit(ended.returncode)
    gate = [ROOT / "results/gate", folder / "a.json", folder / "b.json"]
    subprocess.run([*gate, f"--json={folder / 'verdict.json'}"], stdout=subprocess.DEVNULL)
    return json.loads((folder / "verdict.json").read_text())


def named(found, wanted):
    """Names of the rows of a class, without op types inside steps."""
    rows = [row for row in found["rows"] if row["kind"] != "inside" and row["class"] == wanted]
    return [row["name"].split("/device:")[0] for row in rows]


def same(arguments):
    rows = (TESTS / "gate_rows.txt").read_text().split()
    alarms = 0
    for trial in range(arguments.trials):
        with tempfile.TemporaryDirectory() as folder:
            found = compare(arguments.a, arguments.b, pathlib.Path(folder), rows)
        slower = named(found, "SLOWER")
        alarms += len(slower)
        counts = {one: len(named(found, one)) for one in ("SLOWER", "FASTER", "SAME", "AMBIGUOUS")}
        print(f"trial {trial + 1}: {counts} {' '.join(slower)}", flush=True)
    print(f"{alarms} false SLOWER in {arguments.trials} trials of {len(rows)} rows")


def planted(arguments):
    steps = [row for row in (TESTS / "gate_rows.txt").read_text().split() if "op/" not in row]
    library = arguments.a.resolve().parent / "planted_delay.so"
    for level in LEVELS:
        hits = 0
        for trial in range(arguments.trials):
            with tempfile.TemporaryDirectory() as folder:
                hits += plant(arguments.a, library, pathlib.Path(folder), steps, level, trial)
        print(f"{level} %: found with its op in {hits} of {arguments.trials}", flush=True)


def plant(program, library, folder, steps, level, trial):
    """Runs one trial. Returns whether only this step is SLOWER and the op is its first cause."""
    step, op, op_type, calls = TARGETS[trial % len(TARGETS)]
    delay = level / 100 * median_us(program, folder, step) / calls
    slower = folder / "fathom_bench"
    plan = shlex.quote(f"{step} {op} {delay:.3f}")
    slower.write_text(
        f'#!/bin/sh\nLD_PRELOAD={library} FATHOM_PLANT={plan} exec {program.resolve()} "$@"\n'
    )
    slower.chmod(0o755)
    found = compare(program, slower, folder, steps, ["--most-rounds=45"], ["--fathom_profile"])
    (row,) = [
        row for row in found["rows"] if row["name"].startswith(step + "/") and row["kind"] == "step"
    ]
    causes = [cause["op_type"] for cause in row.get("causes", [])]
    others = [name for name in named(found, "SLOWER") if name != step]
    hit = row["class"] == "SLOWER" and causes[:1] == [op_type]
    print(
        f"{level} % in {op_type} of {step}: {row['class']} {row['change_pct']:+.1f} %, q {row['q']:.2g}, "
        f"causes {causes}, others {others}",
        flush=True,
    )
    return hit and not others


def median_us(program, folder, step):
    out = folder / "base.json"
    command = [program, *OPTIONS, f"--benchmark_filter=^{step}/", f"--benchmark_out={out}"]
    subprocess.run(
        [*command, "--benchmark_repetitions=3"],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    rows = json.loads(out.read_text())["benchmarks"]
    return next(row["real_time"] for row in rows if row["name"].endswith("_median"))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = parser.add_subparsers(required=True)
    for run, count in ((same, 2), (planted, 1)):
        kind = kinds.add_parser(run.__name__)
        kind.set_defaults(run=run)
        for name in ("a", "b")[:count]:
            kind.add_argument(name, type=pathlib.Path)
        kind.add_argument("--trials", type=int, default=10 if run is same else 5)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
