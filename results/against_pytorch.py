#!/usr/bin/env python3
"""Compares our steps with the same networks in eager PyTorch on this machine, and ops with torchvision's.

    results/against_pytorch.py vgg/train vgg/infer --threads 2 --rounds 5
    results/against_pytorch.py op/nms/faster_rcnn/anchor_boxes/forward
    results/against_pytorch.py vgg/train --device cuda --precision fp32 bf16

Both run alternately, each in its own process, so that drift of the machine affects both. Needs a Python with the
version of PyTorch that the program was built with. Prints medians in milliseconds and the ratio ours / PyTorch's with
its range over the rounds.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import eager_steps
from fathom_runs.benchmarks import read

ROOT = pathlib.Path(__file__).resolve().parent.parent
BURST_SECONDS = 0.05  # on a GPU: the host launches the steps of a burst without waiting
LONG_SECONDS = 10  # of a step whose warm-up is one step, and of which three are timed


def prepare(torch, device, precision, threads):
    """Settings of a user who wants fast steps at this precision. Returns a function that makes the step's context."""
    torch.set_num_threads(threads)
    torch.set_default_device(device)
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    return lambda: torch.autocast(device, torch.bfloat16, enabled=precision == "bf16")


def time_eager(row, device, precision, threads):
    """Median milliseconds.

    Warms up with three steps, then times at least five bursts and two seconds. Of a long step: one, then three.
    """
    import torch

    context = prepare(torch, device, precision, threads)
    step = eager_steps.ROWS[row](torch)

    def milliseconds(steps):
        begin = time.perf_counter()
        for _ in range(steps):
            with context():
                step()
        if device == "cuda":
            torch.cuda.synchronize()
        return (time.perf_counter() - begin) * 1e3 / steps

    long = milliseconds(1) > LONG_SECONDS * 1e3
    if not long:
        milliseconds(2)
    steps = 1 if device == "cpu" else max(1, round(BURST_SECONDS * 1e3 / milliseconds(3)))
    times = []
    while len(times) < (3 if long else 5) or sum(times) * steps < 2000:
        times.append(milliseconds(steps))
    return statistics.median(times)


def output(command):
    """What a program prints. If it fails, its messages and its exit code end this one."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write(done.stderr)
        sys.exit(f"against_pytorch: exit code {done.returncode} of {' '.join(map(str, command))}")
    return done.stdout


def eager_milliseconds(row, arguments, precision):
    command = [sys.executable, __file__, row, "--threads", str(arguments.threads), "--eager"]
    command += ["--device", arguments.device, "--precision", precision]
    return float(output(command))


def our_milliseconds(row, arguments, precision):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        command = [
            arguments.program,
            f"--benchmark_filter=^{row}/",
            f"--fathom_device={arguments.device}",
            f"--fathom_precision={precision}",
            "--benchmark_min_time=2",
            f"--benchmark_out={out}",
        ]
        if arguments.device == "cpu":
            command.append(f"--fathom_threads={arguments.threads}")
        output(command)
        # An op has a row for each backend. The steps run one of them.
        result = max(read(out).measured, key=lambda one: one.median("in_steps", 0))
    return result.median("p50_us", result.us) / 1e3


def parsed():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "rows",
        nargs="+",
        choices=eager_steps.ROWS,
        metavar="ROW",
        help=", ".join(eager_steps.ROWS),
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument(
        "--precision", nargs="+", choices=("fp32", "tf32", "bf16"), default=["fp32"]
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--program", default=ROOT / "build/default/fathom_bench")
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=argparse.FileType("w"),
        help="also write the times as JSON lines",
    )
    parser.add_argument("--eager", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def compare(row, precision, arguments):
    """Runs both alternately. Returns the times in milliseconds and the ratios, round by round."""
    ours, eager = [], []
    for _ in range(arguments.rounds):
        ours.append(our_milliseconds(row, arguments, precision))
        eager.append(eager_milliseconds(row, arguments, precision))
    return {"ours_ms": ours, "pytorch_ms": eager, "ratio": [a / b for a, b in zip(ours, eager)]}


def main():
    arguments = parsed()
    if arguments.eager:
        (precision,) = arguments.precision
        print(time_eager(arguments.rows[0], arguments.device, precision, arguments.threads))
        return
    for row in arguments.rows:
        for precision in arguments.precision:
            found = compare(row, precision, arguments)
            ours, eager, ratio = (statistics.median(found[key]) for key in found)
            print(
                f"{row}, {arguments.device}, {arguments.threads} threads, {precision}: {ours:.4g} ms against "
                f"{eager:.4g} ms, ratio {ratio:.3f} ({min(found['ratio']):.3f} to {max(found['ratio']):.3f})",
                flush=True,
            )
            if arguments.out:
                arguments.out.write(json.dumps({"row": row, "precision": precision} | found) + "\n")
                arguments.out.flush()


if __name__ == "__main__":
    main()
