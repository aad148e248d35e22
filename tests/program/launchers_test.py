"""Ranks that torchrun and mpirun start."""

import contextlib
import itertools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest
from torch_python import DEPENDENCIES, torch_environment, torch_python

from program import PROGRAM, QUICK, cores, read_json

ROW = "memnet/train/device:cpu/threads:1/ranks:2/batch:32/precision:fp32/backend:torch"
pytestmark = pytest.mark.skipif(cores() < 2, reason="two ranks need two cores")


def torchrun():
    """The command, and its environment. Does not use the wheel's torchrun, a script with the path of its Python."""
    command = [torch_python(), "-m", "torch.distributed.run", "--standalone", "--no-python"]
    return [*command, "--nproc-per-node", "2"], torch_environment()


def mpirun():
    """That of the pinned wheel or of the system."""
    pinned = DEPENDENCIES / "mpi/bin/mpirun"
    command = pinned if pinned.exists() else shutil.which("mpirun")
    if command is None:
        pytest.skip("no mpirun")
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return [command, "-n", "2"], os.environ | as_root


LAUNCHERS = {"torchrun": torchrun, "mpirun": mpirun}


@pytest.fixture(name="launched", params=LAUNCHERS)
def launcher(request):
    """The launcher's name, and a function that starts two ranks with it."""
    command, environment = LAUNCHERS[request.param]()

    def run(*arguments):
        words = [*command, PROGRAM, *QUICK, "--fathom_machine_check=off", *arguments]
        return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)

    return request.param, run


def test_ranks_measure_together(launched, tmp_path):
    name, run = launched
    out = tmp_path / "out.json"
    done = run("--benchmark_filter=^memnet/train/.*ranks:", f"--benchmark_out={out}")
    assert done.returncode == 0, done.stdout + done.stderr
    found = read_json(out)
    assert [row["name"] for row in found["benchmarks"]] == [f"{ROW}/process_time/real_time"]
    context = found["context"]
    assert (context["launcher"], context["ranks"], context["hosts"]) == (name, "2", "1")


def test_mpi_has_rows_of_collectives_of_all_its_processes(tmp_path):
    if not (pathlib.Path(PROGRAM).parent / "libfathom_mpi.so").exists():
        pytest.skip("built without MPI")
    command, environment = mpirun()
    out = tmp_path / "out.json"
    words = [*command, PROGRAM, *QUICK, "--fathom_machine_check=off", "--fathom_ranks=1,2"]
    words += ["--benchmark_filter=^op/.*/memnet/.*backend:mpi", f"--benchmark_out={out}"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {row["name"]: row for row in read_json(out)["benchmarks"]}
    tail = (
        "device:cpu/threads:1/ranks:2/precision:fp32/cache:hot/backend:mpi/process_time/real_time"
    )
    assert list(found) == [
        f"op/all_reduce/memnet/gradients/update/{tail}",
        f"op/all_reduce/memnet/bucket0/update/{tail}",
        f"op/all_gather/memnet/parameters/update/{tail}",
        f"op/reduce_scatter/memnet/parameters/update/{tail}",
        f"op/broadcast/memnet/parameters/update/{tail}",
    ]
    assert all(row["busbw"] > 0 for row in found.values())


def rank_1_of(launcher):
    """The process of rank 1, once it has started."""
    tasks = pathlib.Path(f"/proc/{launcher}/task")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        children = [path.read_text().split() for path in tasks.glob("*/children")]
        for pid in itertools.chain(*children):
            variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            if b"OMPI_COMM_WORLD_RANK=1" in variables:
                return int(pid)
        time.sleep(0.05)
    raise TimeoutError("rank 1 did not start")


# The second row runs after MPI, whose end waits for all ranks, too.
@pytest.mark.parametrize(
    "first, stopped_in, reason",
    [
        ("", "mpi", "MPI_Allreduce did not return within the 3 s of --fathom_rank_seconds"),
        ("memnet/gradients/.*mpi|", "gloo", r"rank 1 \(.*\) does not answer, in op/all_reduce/"),
    ],
)
def test_a_rank_that_stops_ends_the_run(tmp_path, first, stopped_in, reason):
    if not (pathlib.Path(PROGRAM).parent / "libfathom_mpi.so").exists():
        pytest.skip("built without MPI")
    command, environment = mpirun()
    out = tmp_path / "out.json"
    words = [*command, PROGRAM, "--fathom_threads=1", "--fathom_machine_check=off"]
    words += ["--fathom_device=cpu", "--fathom_rank_seconds=3", "--benchmark_min_time=6"]
    rows = f"^op/all_reduce/({first}autoenc/gradients/.*{stopped_in})"
    words += [f"--benchmark_filter={rows}", f"--benchmark_out={out}"]
    with (tmp_path / "lines").open("w+") as lines:
        started = subprocess.Popen(words, env=environment, stdout=lines, stderr=lines)
        rank_1 = rank_1_of(started.pid)
        maps = pathlib.Path(f"/proc/{rank_1}/maps")
        while not (out.exists() if first else "libfathom_mpi.so" in maps.read_text()):
            time.sleep(0.05)
        time.sleep(2.5)  # the row takes 6 seconds or more
        os.kill(rank_1, signal.SIGSTOP)
        try:
            assert started.wait(timeout=60) == 4
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rank_1, signal.SIGKILL)
        lines.seek(0)
        assert re.search(f"fathom_bench: {reason}", lines.read())


@pytest.mark.parametrize(
    "arguments, line",
    [
        (["--benchmark_filter=nothing"], "no benchmark matches --benchmark_filter=nothing"),
        (["--fathom_nothing"], "unknown argument --fathom_nothing"),
        (["--fathom_data=/nonexistent"], "/nonexistent: does not exist"),
    ],
)
def test_an_error_of_all_ranks_is_printed_once(launched, arguments, line):
    _, run = launched
    done = run(*arguments)
    assert done.returncode != 0
    assert (done.stdout + done.stderr).count(f"fathom_bench: {line}") == 1
    assert "fathom_bench: rank 1: " not in done.stdout + done.stderr


def test_wrong_usage_reaches_the_user(launched):
    name, run = launched
    done = run("--fathom_ranks=3")
    assert done.returncode != 0
    message = f"--fathom_ranks=3: expected 1 to 2, the processes that {name} has started"
    assert message in done.stdout + done.stderr
