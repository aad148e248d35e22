#!/usr/bin/env python3
"""Compares our steps with the same networks in PyTorch's Python on this machine, and ops with torchvision's.

    results/against_pytorch.py vgg/train vgg/infer --threads 2 --rounds 5
    results/against_pytorch.py vgg/train --backend tuned --modes eager channels_last compile
    results/against_pytorch.py op/nms/faster_rcnn/anchor_boxes/forward
    results/against_pytorch.py vgg/train --device cuda --precision fp32 bf16

Both run alternately, each in its own process, so that drift of the machine affects both. Needs a Python with the
version of PyTorch that the program was built with. Prints medians in milliseconds and the ratio ours / PyTorch's with
its range over the rounds. A mode of PyTorch that fails, or does not end within --limit seconds, gets a line that says
so; the exit code is then 1.
"""

import argparse
import itertools
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import eager_steps
from eager_steps.step import MODES
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


def time_pytorch(row, mode, device, precision, threads):
    """Median milliseconds.

    Warms up with three steps, then times at least five bursts and two seconds. Of a long step: one, then three.
    """
    import torch

    context = prepare(torch, device, precision, threads)
    step = eager_steps.ROWS[row](torch)
    if mode != "eager":
        if not hasattr(step, "use"):
            sys.exit(f"{row}: not written for mode {mode}, expected eager")
        step.use(mode)

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


class Failed(Exception):
    """A program failed. Says which, why and how."""


def output(command, limit=None):
    """What a program prints. Raises Failed with the last line of its messages."""
    words = " ".join(map(str, command))
    try:
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"against_pytorch: not ended in {limit} s: {words}") from None
    if done.returncode:
        message = "".join(line + "\n" for line in done.stderr.splitlines()[-1:])
        raise Failed(f"{message}against_pytorch: exit code {done.returncode} of {words}")
    return done.stdout


def pytorch_milliseconds(row, mode, arguments, precision):
    command = [sys.executable, __file__, row, "--threads", str(arguments.threads), "--time", mode]
    command += ["--device", arguments.device, "--precision", precision]
    return float(output(command, arguments.limit))


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
        if arguments.backend:
            command.append(f"--fathom_backend={arguments.backend}")
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
    parser.add_argument("--backend", choices=("torch", "onednn", "tuned"), help="of our rows")
    parser.add_argument(
        "--modes",
        nargs="+",
        choices=MODES,
        default=["eager"],
        help="of PyTorch: eager, channels_last (networks with convolutions), compile (torch.compile)",
    )
    parser.add_argument(
        "--limit", type=float, default=900, help="seconds for a mode of PyTorch, compiling included"
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=argparse.FileType("w"),
        help="also write the times as JSON lines",
    )
    parser.add_argument("--time", choices=MODES, help=argparse.SUPPRESS)
    return parser.parse_args()


def compare(row, precision, arguments):
    """Runs all alternately. Returns our times in milliseconds and those of each mode of PyTorch, round by round.

    A mode that failed has its message instead.
    """
    ours, theirs = [], {mode: [] for mode in arguments.modes}
    for _ in range(arguments.rounds):
        ours.append(our_milliseconds(row, arguments, precision))
        for mode, times in theirs.items():
            if isinstance(times, str):
                continue
            try:
                times.append(pytorch_milliseconds(row, mode, arguments, precision))
            except Failed as failed:
                theirs[mode] = str(failed)
    return ours, theirs


def line(ours, times):
    """What is printed of one mode."""
    ratios = [a / b for a, b in zip(ours, times)]
    return (
        f"{statistics.median(ours):.4g} ms against {statistics.median(times):.4g} ms, "
        f"ratio {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
    )


def main():
    arguments = parsed()
    if arguments.time:
        (row,), (precision,) = arguments.rows, arguments.precision
        print(time_pytorch(row, arguments.time, arguments.device, precision, arguments.threads))
        return
    failed = False
    for row, precision in itertools.product(arguments.rows, arguments.precision):
        ours, theirs = compare(row, precision, arguments)
        for mode, times in theirs.items():
            about = f"{row}, {arguments.device}, {arguments.threads} threads, {precision}, {mode}"
            found = {"row": row, "precision": precision, "mode": mode, "ours_ms": ours}
            if isinstance(times, str):
                failed = True
                print(f"{about}: failed\n{times}", file=sys.stderr)
                continue
            print(f"{about}: {line(ours, times)}", flush=True)
            if arguments.out:
                arguments.out.write(json.dumps(found | {"pytorch_ms": times}) + "\n")
                arguments.out.flush()
    sys.exit(failed)


if __name__ == "__main__":
    try:
        main()
    except Failed as stopped:
        sys.exit(str(stopped))
