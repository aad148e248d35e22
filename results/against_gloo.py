#!/usr/bin/env python3
"""Compares our all_reduce rows with a loop of torch.distributed.all_reduce in Python, of the same sizes.

    results/against_gloo.py --ranks 2 --workloads vgg autoenc --rounds 5

Both run Gloo on the processes of this host and alternately, so that drift of the machine affects both. Needs a Python
with the version of PyTorch that the program was built with. Prints the bytes of each row, medians in milliseconds and
the ratio ours / Python's with its range over the rounds.
"""

import json
import pathlib
import statistics
import tempfile
import time

from against_pytorch import ROOT, line, output
from eager_steps.ranks import run_on_ranks
from fathom_runs.arguments import command_line, positive
from fathom_runs.benchmarks import read
from fathom_runs.program import run

WARM_UP = 3


def time_all_reduces(sizes, counts, out):
    """Writes the median milliseconds of each size in bytes, of so many calls."""
    import torch

    torch.set_num_threads(1)
    medians = []
    for size, count in zip(sizes, counts):
        tensor = torch.zeros(size // 4)
        times = []
        for _ in range(WARM_UP):
            torch.distributed.all_reduce(tensor)
        torch.distributed.barrier()
        for _ in range(count):
            begin = time.perf_counter()
            torch.distributed.all_reduce(tensor)
            times.append((time.perf_counter() - begin) * 1e3)
        medians.append(statistics.median(times))
    if torch.distributed.get_rank() == 0:
        pathlib.Path(out).write_text(json.dumps(medians))


def our_rows(arguments, folder):
    out = pathlib.Path(folder) / "out.json"
    workloads = "|".join(arguments.workloads)
    command = [
        arguments.program,
        f"--benchmark_filter=^op/all_reduce/({workloads})/.*/ranks:{arguments.ranks}/",
        f"--fathom_ranks={arguments.ranks}",
        "--fathom_device=cpu",
        "--fathom_threads=1",
        f"--benchmark_min_time={arguments.seconds}",
        f"--benchmark_out={out}",
    ]
    output(command)
    return read(out).measured


def bytes_of(row):
    return round(row.median("algbw") * row.us * 1e-6)


def python_milliseconds(rows, arguments, folder):
    out = pathlib.Path(folder) / "python.json"
    counts = [int(row.median("iterations")) for row in rows]
    run_on_ranks(arguments.ranks, time_all_reduces, [bytes_of(row) for row in rows], counts, out)
    return json.loads(out.read_text())


def parsed():
    parser = command_line("against_gloo.py", __doc__)
    parser.add_argument("--ranks", type=positive, default=2)
    parser.add_argument("--workloads", nargs="+", default=["[^/]+"], help="regular expressions")
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="at least, for a row in a round")
    parser.add_argument("--program", default=ROOT / "build/default/fathom_bench")
    return parser.parse_args()


def main():
    arguments = parsed()
    sizes, ours, theirs = {}, {}, {}
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory() as folder:
            rows = our_rows(arguments, folder)
            for row, python in zip(rows, python_milliseconds(rows, arguments, folder)):
                name = "/".join(row.name.split("/")[2:4])
                sizes[name] = bytes_of(row)
                ours.setdefault(name, []).append(row.median("p50_us", row.us) / 1e3)
                theirs.setdefault(name, []).append(python)
    for name, size in sizes.items():
        print(f"{name}, {size} bytes, {arguments.ranks} ranks: {line(ours[name], theirs[name])}")


if __name__ == "__main__":
    run(main)
