#!/usr/bin/env python3
"""Compares our steps with the same networks in PyTorch's Python on this machine, and ops with torchvision's.

    results/against_pytorch.py vgg/train vgg/infer --threads 2 --rounds 5
    results/against_pytorch.py vgg/train --backend torch tuned --modes eager channels_last compile
    results/against_pytorch.py op/nms/faster_rcnn/anchor_boxes/forward
    results/against_pytorch.py vgg/train --device cuda --precision fp32 bf16
    results/against_pytorch.py vgg/train --ranks 2

All run alternately, each in its own process, so that drift of the machine affects all. Needs a Python with the version
of PyTorch that the program was built with. Prints medians in milliseconds and the ratio ours / PyTorch's with its range
over the rounds. A mode of PyTorch that fails, or does not end within --limit seconds, gets a line that says so; the exit
code is then 2.

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


def our_milliseconds(row, backend, arguments, precision):
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
        if backend:
            command.append(f"--fathom_backend={backend}")
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
    parser.add_argument(
        "--backend",
        nargs="+",
        choices=("torch", "onednn", "tuned"),
        default=[None],
        help="of our rows",
    )
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
    """Runs all alternately. Returns our times in milliseconds by backend and PyTorch's by mode, round by round.

    A mode that failed has its message instead.
    """
    ours = {backend: [] for backend in arguments.backend}
    theirs = {mode: [] for mode in arguments.modes}
    for _ in range(arguments.rounds):
        for backend, times in ours.items():
            times.append(our_milliseconds(row, backend, arguments, precision))
        for mode, times in theirs.items():
            if isinstance(times, str):
                continue
            try:
                times.append(pytorch_milliseconds(row, mode, arguments, precision))
            except Failed as failed:
                theirs[mode] = str(failed)
    return ours, theirs


def time_one(arguments):
    """Prints the time of one mode of PyTorch."""
    of = (*arguments.rows, arguments.time, arguments.device, *arguments.precision)
    try:
        if arguments.ranks:
            run_on_ranks(arguments.ranks, print_time, *of, arguments.threads)
        else:
            print_time(*of, arguments.threads)
    except ModuleNotFoundError as error:
        raise RunError(
            f"{sys.executable}: {error}, expected a Python with PyTorch: pip install {error.name}"
        ) from None


def subject(*parts):
    """What a comparison is of."""
    return ", ".join(filter(None, parts))


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
        time_one(arguments)
        return 0
    failed = False
    for row, precision in itertools.product(arguments.rows, arguments.precision):
        ours, theirs = compare(row, precision, arguments)
        ranks = plural(arguments.ranks, "rank") if arguments.ranks else None
        threads = plural(arguments.threads, "thread")
        about = [row, arguments.device, ranks, threads, precision]
        for mode, times in theirs.items():
            if isinstance(times, str):
                failed = True
                print(f"against_pytorch: {subject(*about, mode)}: failed: {times}", file=sys.stderr)
                continue
            for backend, our_times in ours.items():
                print(f"{subject(*about, backend, mode)}: {line(our_times, times)}", flush=True)
                if arguments.out:
                    found = {"row": row, "precision": precision, "mode": mode}
                    found |= {"backend": backend} if backend else {}
                    found |= {"ranks": arguments.ranks} if arguments.ranks else {}
                    found |= {"ours_ms": our_times, "pytorch_ms": times}
                    arguments.out.write(json.dumps(found) + "\n")
                    arguments.out.flush()
    return FAILED if failed else 0


if __name__ == "__main__":
    run(main)
