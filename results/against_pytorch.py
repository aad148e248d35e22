#!/usr/bin/env python3
"""Compares our steps with the same networks in eager PyTorch on this machine.

    results/against_pytorch.py vgg/train vgg/infer --threads 2 --rounds 5

Both run alternately, each in its own process, so that drift of the machine affects both. Needs a Python with the
version of PyTorch that the program was built with. Prints medians in milliseconds and the ratio ours / PyTorch's with
its range over the rounds.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import eager_steps
from fathom_runs.benchmarks import read

ROOT = pathlib.Path(__file__).resolve().parent.parent


def time_eager(row, threads):
    """Median milliseconds of at least five steps and two seconds, after three steps of warm-up."""
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    workload, mode = row.split("/")
    step = eager_steps.WORKLOADS[workload](torch, mode)
    for _ in range(3):
        step()
    times = []
    while len(times) < 5 or sum(times) < 2000:
        begin = time.perf_counter()
        step()
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


def eager_milliseconds(row, threads):
    command = [sys.executable, __file__, row, "--threads", str(threads), "--eager"]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def our_milliseconds(program, row, threads):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        command = [
            program,
            f"--benchmark_filter=^{row}/device:cpu/",
            f"--fathom_threads={threads}",
            "--benchmark_min_time=2",
            f"--benchmark_out={out}",
        ]
        subprocess.run(command, check=True, capture_output=True)
        (result,) = read(out).measured
    return result.median("p50_us", result.us) / 1e3


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    rows = [
        f"{workload}/{mode}" for workload in eager_steps.WORKLOADS for mode in ("train", "infer")
    ]
    parser.add_argument("rows", nargs="+", choices=rows, metavar="ROW", help=", ".join(rows))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--program", default=ROOT / "build/default/fathom_bench")
    parser.add_argument("--eager", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.eager:
        print(time_eager(arguments.rows[0], arguments.threads))
        return
    for row in arguments.rows:
        ours, eager = [], []
        for _ in range(arguments.rounds):
            ours.append(our_milliseconds(arguments.program, row, arguments.threads))
            eager.append(eager_milliseconds(row, arguments.threads))
        ratios = [a / b for a, b in zip(ours, eager)]
        print(
            f"{row}, {arguments.threads} threads: {statistics.median(ours):.4g} ms against "
            f"{statistics.median(eager):.4g} ms, ratio {statistics.median(ratios):.3f} "
            f"({min(ratios):.3f} to {max(ratios):.3f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
