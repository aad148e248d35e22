"""Two ranks in network namespaces, joined by a link with and without a limit of 1 Gb/s."""

import contextlib
import os
import re
import shutil
import subprocess

import pytest

from program import PROGRAM, QUICK, cores, read_json

BYTES_PER_SECOND = 125e6
LIMIT = ["tbf", "rate", "1gbit", "burst", "32kb", "latency", "20ms"]
ADDRESSES = ["10.77.0.1", "10.77.0.2"]
STEP = "autoenc/train/device:cpu/threads:1/ranks:2/batch:128/precision:fp32/backend:torch"
ALL_REDUCE = "op/all_reduce/autoenc/gradients/update/device:cpu/threads:1/ranks:2/"
ALL_REDUCE += "precision:fp32/cache:hot/backend:gloo"
REFUSALS = ["not permitted", "not supported", "Permission denied", "Unknown device", "is unknown"]
SECONDS = 120  # for a run, which takes 5


def skip_unless_possible():
    if os.geteuid():
        pytest.skip("network namespaces need root")
    if not (shutil.which("ip") and shutil.which("tc")):
        pytest.skip("no ip and tc (iproute2)")
    if cores() < 2:
        pytest.skip("two ranks need two cores")


def configure(*command):
    """Runs ip or tc. Skips the test where the kernel, or the container, does not have what they ask for."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    if done.returncode:
        error = f"{' '.join(command)}: {' '.join(done.stderr.split())}"
        assert any(word in error for word in REFUSALS), error
        pytest.skip(f"the kernel refuses {error}")


@contextlib.contextmanager
def namespaces(limited):
    """Two namespaces, one for each address."""
    names = [f"fathom{os.getpid()}-{rank}" for rank in (0, 1)]
    try:
        for name in names:
            configure("ip", "netns", "add", name)
        ends = [["wire", "netns", name] for name in names]
        configure("ip", "link", "add", *ends[0], "type", "veth", "peer", "name", *ends[1])
        for name, address in zip(names, ADDRESSES):
            configure("ip", "-n", name, "address", "add", f"{address}/24", "dev", "wire")
            for device in ("lo", "wire"):
                configure("ip", "-n", name, "link", "set", device, "up")
            if limited:
                configure("tc", "-n", name, "qdisc", "add", "dev", "wire", "root", *LIMIT)
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def start(rank, namespace, out):
    environment = os.environ | {
        "RANK": str(rank),
        "WORLD_SIZE": "2",
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "MASTER_ADDR": ADDRESSES[0],
        "MASTER_PORT": "29500",
    }
    command = [
        *("ip", "netns", "exec", namespace, PROGRAM, *QUICK, "--fathom_machine_check=off"),
        "--benchmark_filter=^(autoenc/train/.*ranks:|op/all_reduce/autoenc/gradients/)",
        f"--benchmark_out={out}",
    ]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run_on(limited, out):
    """What a run of two ranks has written."""
    with namespaces(limited) as names, contextlib.ExitStack() as stack:
        processes = [start(rank, name, out) for rank, name in enumerate(names)]
        for process in processes:
            stack.callback(process.kill)
        outputs = [process.communicate(timeout=SECONDS) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    return read_json(out)


@pytest.fixture(name="runs", scope="module")
def both_runs(tmp_path_factory):
    """By whether the link is limited."""
    skip_unless_possible()
    folder = tmp_path_factory.mktemp("network")
    return {limited: run_on(limited, folder / f"{limited}.json") for limited in (True, False)}


@pytest.fixture(name="rows")
def rows_of_both_runs(runs):
    return {
        limited: {
            row["name"].removesuffix("/process_time/real_time"): row for row in run["benchmarks"]
        }
        for limited, run in runs.items()
    }


def test_ranks_of_two_networks_join(rows):
    for limited in rows:
        assert list(rows[limited]) == [STEP, ALL_REDUCE]


def test_the_context_names_the_interface(runs):
    assert re.fullmatch(r"wire(, \d+ Mb/s)?", runs[True]["context"]["rank_interface"])


def test_communication_of_a_step_takes_as_long_as_the_link(rows):
    row = rows[True][STEP]
    # Each of two ranks sends as many bytes as it reduces; a burst of 32 kB passes at once.
    assert row["comm_us"] >= 0.8 * row["gradient_bytes"] / BYTES_PER_SECOND * 1e6
    assert rows[False][STEP]["comm_us"] < 0.5 * row["comm_us"]


def test_all_reduce_has_the_bandwidth_of_the_link(rows):
    assert rows[True][ALL_REDUCE]["algbw"] <= BYTES_PER_SECOND / 0.8
    assert rows[False][ALL_REDUCE]["min_us"] < 0.5 * rows[True][ALL_REDUCE]["min_us"]
