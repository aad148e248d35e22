#!/usr/bin/env python3
"""Compares our steps with the same networks in PyTorch's Python on this machine, and ops with torchvision's.

    results/against_pytorch.py vgg/train vgg/infer --threads 2 --rounds 5
    results/against_pytorch.py vgg/train --backend tuned --modes eager channels_last compile
    results/against_pytorch.py op/nms/faster_rcnn/anchor_boxes/forward
    results/against_pytorch.py vgg/train --device cuda --precision fp32 bf16
    results/against_pytorch.py vgg/train --ranks 2

Both run alternately, each in its own process, so that drift of the machine affects both. Needs a Python with the
version of PyTorch that the program was built with. Prints medians in milliseconds and the ratio ours / PyTorch's with
its range over the rounds. A mode of PyTorch that fails, or does not end within --limit seconds, gets a line that says
so; the exit code is then 2.

With --ranks, both average the gradients over that many processes of this host through Gloo, PyTorch's Python with
DistributedDataParallel. Each process has its share of the CPUs.
"""

import argparse
import itertools
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import eager_steps
from eager_steps.ranks import run_on_ranks
from eager_steps.step import MODES
from eager_steps.timing import print_time
from fathom_runs.arguments import command_line, positive
from fathom_runs.benchmarks import read
from fathom_runs.program import FAILED, run
from fathom_runs.source import RunError
from fathom_runs.words import plural

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Failed(RunError):
    """A program failed. Says which, how and why, in one line."""


def output(command, limit=None):
    """What a program prints. Raises Failed with the last line of its messages."""
    words = " ".join(map(str, command))
    try:
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, errors="replace", timeout=limit
        )
    except OSError as error:
        raise Failed(
            f"{command[0]}: {error.strerror}, expected a built program (--program)"
        ) from None
    except subprocess.TimeoutExpired:
        raise Failed(f"not ended in {limit} s: {words}") from None
    if done.returncode:
        message = (done.stderr.rstrip().splitlines() or ["no message"])[-1]
        raise Failed(f"exit code {done.returncode} of {words}: {message}")
    return done.stdout


def pytorch_milliseconds(row, mode, arguments, precision):
    command = [sys.executable, __file__, row, "--threads", str(arguments.threads), "--time", mode]
    command += ["--device", arguments.device, "--precision", precision]
    if arguments.ranks:
        command += ["--ranks", str(arguments.ranks)]
    return float(output(command, arguments.limit))


def our_milliseconds(row, arguments, precision):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        ranks = f".*/ranks:{arguments.ranks}/" if arguments.ranks else ""
        command = [
            arguments.program,
            f"--benchmark_filter=^{row}/{ranks}",
            f"--fathom_device={arguments.device}",
            f"--fathom_precision={precision}",
            "--benchmark_min_time=2",
            f"--benchmark_out={out}",
        ]
        if arguments.device == "cpu":
            command.append(f"--fathom_threads={arguments.threads}")
        if arguments.backend:
            command.append(f"--fathom_backend={arguments.backend}")
        if arguments.ranks:
            command.append(f"--fathom_ranks={arguments.ranks}")
        output(command)
        # An op has a row for each backend. The steps run one of them.
        result = max(read(out).measured, key=lambda one: one.median("in_steps", 0))
    return result.median("p50_us", result.us) / 1e3


def parsed():
    parser = command_line("against_pytorch.py", __doc__)
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
    parser.add_argument("--threads", type=positive, default=1)
    parser.add_argument("--ranks", type=int, help="processes that train together; only on CPUs")
    parser.add_argument("--rounds", type=positive, default=5)
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
    arguments = parser.parse_args()
    if arguments.ranks is not None:
        wrong = [row for row in arguments.rows if not row.endswith("/train")]
        if arguments.ranks < 1 or arguments.device != "cpu" or wrong:
            parser.error("--ranks: expected 1 or more, --device cpu and rows of training")
    return arguments


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
        of = (*arguments.rows, arguments.time, arguments.device, *arguments.precision)
        if arguments.ranks:
            run_on_ranks(arguments.ranks, print_time, *of, arguments.threads)
        else:
            print_time(*of, arguments.threads)
        return 0
    failed = False
    for row, precision in itertools.product(arguments.rows, arguments.precision):
        ours, theirs = compare(row, precision, arguments)
        for mode, times in theirs.items():
            ranks = f"{plural(arguments.ranks, 'rank')}, " if arguments.ranks else ""
            about = f"{row}, {arguments.device}, {ranks}{plural(arguments.threads, 'thread')}, "
            about += f"{precision}, {mode}"
            found = {"row": row, "precision": precision, "mode": mode, "ours_ms": ours}
            found |= {"ranks": arguments.ranks} if arguments.ranks else {}
            if isinstance(times, str):
                failed = True
                print(f"against_pytorch: {about}: failed: {times}", file=sys.stderr)
                continue
            print(f"{about}: {line(ours, times)}", flush=True)
            if arguments.out:
                arguments.out.write(json.dumps(found | {"pytorch_ms": times}) + "\n")
                arguments.out.flush()
    return FAILED if failed else 0


if __name__ == "__main__":
    run(main)
