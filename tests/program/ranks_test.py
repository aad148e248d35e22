"""--fathom_ranks: rows of several processes, their counters, and what happens when one of them fails."""

import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import time

import pytest

from program import PROGRAM, QUICK, cores, read_json, run, strict_json

CORES = cores()
needs_two_cores = pytest.mark.skipif(CORES < 2, reason="two ranks need two cores")

MEMNET = "memnet/train/device:cpu/threads:1/ranks:{}/batch:32/precision:fp32/backend:torch"
SUFFIX = "/process_time/real_time"
PARTS = {"local_step_us", "exposed_us", "comm_us", "overlapped_us", "gradient_bytes", "buckets"}
OF_SEVERAL = {"slowest_rank", "slowest_rank_pct"}


def ranks(*arguments, **options):
    return run(*QUICK, "--fathom_machine_check=off", *arguments, **options)


def rows_of(path):
    return {row["name"].removesuffix(SUFFIX): row for row in read_json(path)["benchmarks"]}


def failures(path):
    lines = pathlib.Path(f"{path}.errors.jsonl").read_text().splitlines()
    return {line["name"].removesuffix(SUFFIX): line["reason"] for line in map(strict_json, lines)}


def rows_of_run(folder, pattern, *arguments):
    """The rows of a run that succeeds."""
    out = folder / "out.json"
    result = ranks(f"--benchmark_filter={pattern}", f"--benchmark_out={out}", *arguments)
    assert result.returncode == 0, result.stderr
    return rows_of(out)


@pytest.fixture(name="measured", scope="module")
def measured_once(tmp_path_factory):
    """Rows of memnet and autoenc without a group, with one rank and with two."""
    out = tmp_path_factory.mktemp("ranks") / "out.json"
    result = ranks(
        "--fathom_ranks=1,2", "--benchmark_filter=^(memnet|autoenc)/train", f"--benchmark_out={out}"
    )
    assert result.returncode == 0, result.stderr
    return out, result


@needs_two_cores
class TestRows:
    def test_follow_the_row_without_ranks(self, measured):
        names = [name for name in rows_of(measured[0]) if name.startswith("memnet/")]
        assert names == [
            MEMNET.replace("/ranks:{}", ""),
            MEMNET.format(1),
            MEMNET.format(2),
        ]

    @pytest.mark.parametrize("size", [1, 2])
    def test_tell_what_communication_costs(self, measured, size):
        row = rows_of(measured[0])[MEMNET.format(size)]
        assert PARTS <= row.keys()
        assert (OF_SEVERAL <= row.keys()) == (size > 1)
        assert row["gradient_bytes"] == 4 * row["params"]
        assert row["buckets"] == 1
        assert 0 <= row["overlapped_us"] <= row["comm_us"]

    def test_of_one_rank_scale_fully(self, measured):
        rows = rows_of(measured[0])
        assert rows[MEMNET.format(1)]["scaling_pct"] == pytest.approx(100)
        assert 0 < rows[MEMNET.format(2)]["scaling_pct"] < 200

    def test_count_the_work_of_all_ranks(self, measured):
        rows = rows_of(measured[0])
        plain, two = rows[MEMNET.replace("/ranks:{}", "")], rows[MEMNET.format(2)]
        assert two["flops_per_step"] == 2 * plain["flops_per_step"]
        for row, items in ((plain, 32), (two, 64)):
            assert row["items_per_second"] * row["real_time"] * 1e-6 == pytest.approx(items)

    def test_of_other_models_have_no_group_parts(self, measured):
        plain = rows_of(measured[0])[MEMNET.replace("/ranks:{}", "")]
        assert not (PARTS | OF_SEVERAL | {"scaling_pct"}) & plain.keys()

    def test_context_names_the_ranks(self, measured):
        context = read_json(measured[0])["context"]
        assert context["ranks"] == "2" and context["hosts"] == "1"
        assert context["launcher"] == "fathom_bench"
        assert context["rank_interface"] == "lo"


def test_rows_of_inference_have_no_ranks():
    names = ranks("--fathom_ranks=1", "--benchmark_list_tests").stdout.splitlines()
    with_ranks = [name for name in names if "/ranks:" in name]
    assert with_ranks and not [name for name in with_ranks if "/infer/" in name]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--fathom_ranks=0"], ["--fathom_ranks", "0"]),
        (["--fathom_ranks=1,1"], ["--fathom_ranks", "twice"]),
        ([f"--fathom_ranks={CORES + 1}"], [f"--fathom_ranks={CORES + 1}", f"{CORES} cores"]),
        (["--fathom_rank_seconds=5"], ["--fathom_rank_seconds", "needs --fathom_ranks"]),
        (["--fathom_bucket_mb=5"], ["--fathom_bucket_mb", "needs --fathom_ranks"]),
        (
            ["--fathom_ranks=1", "--fathom_record=folder"],
            ["--fathom_ranks", "--fathom_record"],
        ),
    ],
)
def test_wrong_usage_is_one_line(arguments, words):
    result = ranks(*arguments, "--benchmark_filter=^memnet/train")
    assert result.returncode == 2 and result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert all(word in result.stderr for word in words), result.stderr


@needs_two_cores
def test_a_bucket_holds_what_the_option_says(tmp_path, measured):
    options = ["--fathom_ranks=1", "--fathom_bucket_mb=0.5"]
    (row,) = rows_of_run(tmp_path, "^autoenc/train/.*ranks:1", *options).values()
    assert row["gradient_bytes"] == 4 * row["params"]
    default = rows_of(measured[0])[row["name"].removesuffix(SUFFIX)]
    assert row["buckets"] > default["buckets"]


@needs_two_cores
def test_each_row_can_have_its_own_process(tmp_path):
    options = ["--fathom_ranks=2", "--fathom_isolate"]
    assert list(rows_of_run(tmp_path, "^memnet/train/.*ranks:", *options)) == [MEMNET.format(2)]


@needs_two_cores
def test_a_process_of_its_own_after_ranks_has_all_cpus(tmp_path):
    options = ["--fathom_ranks=2", "--fathom_backend=torch,onednn"]
    rows = rows_of_run(tmp_path, "^memnet/train/.*(ranks:2|backend:onednn)", *options)
    assert len(rows) == 2


def test_list_of_rows_starts_no_rank():
    begin = time.monotonic()
    result = ranks("--fathom_ranks=1", "--benchmark_filter=^memnet", "--benchmark_list_tests")
    assert MEMNET.format(1) in result.stdout and time.monotonic() - begin < 20


class Run:
    """A run of memnet rows with two ranks, long enough to be disturbed."""

    def __init__(self, folder, rank_seconds=3):
        self.out = folder / "out.json"
        self.process = subprocess.Popen(
            [
                PROGRAM,
                "--fathom_device=cpu",
                "--fathom_threads=1",
                "--fathom_machine_check=off",
                "--fathom_ranks=2",
                f"--fathom_rank_seconds={rank_seconds}",
                "--benchmark_filter=^(memnet|autoenc)/train/.*ranks:2",
                "--benchmark_min_time=2",
                f"--benchmark_out={self.out}",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def other_rank(self):
        """The process of rank 1, once it has started."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if pids := children.read_text().split():
                return int(pids[0])
            time.sleep(0.01)
        raise TimeoutError("rank 1 did not start")

    def finish(self, seconds=60):
        _, errors = self.process.communicate(timeout=seconds)
        return errors


def threads_of(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def until_connected(pid):
    """Waits until a rank has the threads of a group."""
    deadline = time.monotonic() + 60
    while threads_of(pid) < 6 and time.monotonic() < deadline:
        time.sleep(0.02)


FAULTS = {
    "killed": (lambda pid: os.kill(pid, signal.SIGKILL), r"was lost: signal 9 \(Killed\)"),
    "stopped": (lambda pid: os.kill(pid, signal.SIGSTOP), "does not answer"),
}


@needs_two_cores
@pytest.mark.parametrize("fault", FAULTS)
def test_a_lost_rank_fails_its_row_alone(tmp_path, fault):
    disturbed = Run(tmp_path)
    pid = disturbed.other_rank()
    until_connected(pid)
    time.sleep(1)
    FAULTS[fault][0](pid)
    errors = disturbed.finish()
    assert disturbed.process.returncode == 4, errors
    failed = failures(disturbed.out)
    assert list(failed) == [MEMNET.format(2)]
    host = re.escape(socket.gethostname())
    assert re.fullmatch(rf"rank 1 \({host}\) {FAULTS[fault][1]}", failed[MEMNET.format(2)])
    assert MEMNET.format(2) in errors
    assert [name.split("/")[0] for name in rows_of(disturbed.out)] == ["autoenc"]


@needs_two_cores
def test_a_rank_that_ends_before_it_joins_is_noticed_at_once(tmp_path):
    disturbed = Run(tmp_path, rank_seconds=600)
    os.kill(disturbed.other_rank(), signal.SIGKILL)
    errors = disturbed.finish()
    assert disturbed.process.returncode == 4, errors
    assert failures(disturbed.out) == {MEMNET.format(2): "rank 1 did not join: signal 9 (Killed)"}


@needs_two_cores
def test_a_rank_that_throws_is_named(tmp_path):
    disturbed = Run(tmp_path)
    pid = disturbed.other_rank()
    until_connected(pid)
    resource.prlimit(pid, resource.RLIMIT_AS, (1, 1))  # the next large allocation fails
    errors = disturbed.finish()
    assert disturbed.process.returncode == 4, errors
    failed = failures(disturbed.out)
    assert failed and all("rank 1 (" in reason for reason in failed.values()), failed


@needs_two_cores
def test_other_ranks_end_with_rank_0(tmp_path):
    disturbed = Run(tmp_path)
    pid = disturbed.other_rank()
    until_connected(pid)
    disturbed.process.kill()
    disturbed.finish()
    deadline = time.monotonic() + 10
    while pathlib.Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not pathlib.Path(f"/proc/{pid}").exists()


def launched(rank, port, *arguments, size=2, cpus=None, variables=()):
    """Starts one of `size` processes as torchrun would, on `cpus` and with other variables on top."""
    environment = {
        **os.environ,
        "RANK": str(rank),
        "WORLD_SIZE": str(size),
        "LOCAL_RANK": str(rank),
        "LOCAL_WORLD_SIZE": str(size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        **dict(variables),
    }
    return subprocess.Popen(
        [PROGRAM, *QUICK, "--fathom_machine_check=off", "--fathom_rank_seconds=3", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cpus) if cpus else None,
    )


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


ONE = "--benchmark_filter=^memnet/train/.*ranks:"


@needs_two_cores
class TestLauncher:
    def test_rows_in_processes_of_their_own_run_without_ranks(self, tmp_path):
        port, out = free_port(), tmp_path / "out.json"
        rows = "--benchmark_filter=^memnet/train/.*(ranks:|backend:onednn)"
        options = [rows, "--fathom_ranks=2", "--fathom_backend=torch,onednn"]
        options.append(f"--benchmark_out={out}")
        processes = [launched(rank, port, *options) for rank in (0, 1)]
        outputs = [process.communicate(timeout=120) for process in processes]
        assert [process.returncode for process in processes] == [0, 0], outputs
        onednn = MEMNET.format(2).replace("/ranks:2", "").replace("torch", "onednn")
        assert set(rows_of(out)) == {MEMNET.format(2), onednn}

    def test_ranks_join_by_the_variables(self, tmp_path):
        port, out = free_port(), tmp_path / "out.json"
        processes = [launched(rank, port, ONE, f"--benchmark_out={out}") for rank in (0, 1)]
        outputs = [process.communicate(timeout=120) for process in processes]
        assert [process.returncode for process in processes] == [0, 0], outputs
        assert list(rows_of(out)) == [MEMNET.format(2)]
        assert outputs[1] == ("", "")

    def test_ranks_that_share_too_few_cpus_are_refused(self, tmp_path):
        """Each seems to be alone on its host until they join, as under mpirun --oversubscribe."""
        port, out = free_port(), tmp_path / "out.json"
        alone = {"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
        one_cpu = sorted(os.sched_getaffinity(0))[:1]
        processes = [
            launched(rank, port, ONE, f"--benchmark_out={out}", cpus=one_cpu, variables=alone)
            for rank in (0, 1)
        ]
        outputs = [process.communicate(timeout=120) for process in processes]
        assert processes[0].returncode == 4, outputs
        (reason,) = failures(out).values()
        assert "0 of the 1 CPUs that 2 ranks share, expected one for each" in reason

    def test_other_options_are_refused(self):
        port = free_port()
        processes = [launched(rank, port, ONE, f"--fathom_seed={rank}") for rank in (0, 1)]
        errors = [process.communicate(timeout=120)[1] for process in processes]
        assert [process.returncode for process in processes] == [2, 2]
        for error in errors:
            assert len(error.splitlines()) == 1 and "--fathom_seed=1" in error
            assert f"rank 1 ({socket.gethostname()})" in error

    def test_a_rank_that_never_comes_is_named(self):
        process = launched(0, free_port(), ONE)
        error = process.communicate(timeout=60)[1]
        assert process.returncode == 2
        assert (
            error == "fathom_bench: rank 1 did not join within the 3 s of --fathom_rank_seconds\n"
        )

    def test_without_rank_0_a_rank_gives_up(self):
        process = launched(1, free_port(), ONE)
        error = process.communicate(timeout=60)[1]
        assert process.returncode == 2 and len(error.splitlines()) == 1
        assert error.startswith("fathom_bench: rank 1: ") and "127.0.0.1" in error

    def test_an_unknown_interface_is_named(self):
        result = ranks(ONE, "--fathom_ranks=1", env={**os.environ, "GLOO_SOCKET_IFNAME": "nosuch7"})
        assert result.returncode == 4
        assert 'GLOO_SOCKET_IFNAME: found "nosuch7", expected a network interface' in result.stderr

    def test_half_an_environment_is_wrong_usage(self):
        result = ranks(ONE, env={**os.environ, "RANK": "0"})
        assert result.returncode == 2 and "WORLD_SIZE" in result.stderr

    def test_more_ranks_than_the_launcher_started_are_refused(self):
        process = launched(0, free_port(), ONE, "--fathom_ranks=1,3")
        error = process.communicate(timeout=60)[1]
        assert process.returncode == 2 and "expected 1 to 2" in error

    def test_its_ranks_exclude_a_study(self, tmp_path):
        out = f"--benchmark_out={tmp_path}/out.json"
        process = launched(0, free_port(), "--fathom_study=fathom", out)
        error = process.communicate(timeout=60)[1]
        assert process.returncode == 2
        assert error.startswith("fathom_bench: ranks of torchrun: not together with --fathom_study")


class TestLauncherOfOneProcess:
    """As the shell of `srun --pty bash`: the program can run there as without a launcher."""

    def run(self, *arguments, **variables):
        place = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
        place |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        result = ranks(*arguments, env=os.environ | place | variables)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def test_has_a_row_of_one_rank(self):
        assert MEMNET.format(1) in self.run(ONE, "--benchmark_list_tests")

    def test_runs_a_study(self, tmp_path):
        out = f"--benchmark_out={tmp_path}/out.json"
        names = self.run("--fathom_study=fathom", out, "--benchmark_list_tests")
        assert names and "/ranks:" not in names

    def test_isolates_rows(self, tmp_path):
        out = tmp_path / "out.json"
        row = "--benchmark_filter=^memnet/infer/.*backend:torch"
        self.run(row, "--fathom_isolate", f"--benchmark_out={out}")
        assert len(rows_of(out)) == 1

    @needs_two_cores
    def test_starts_more_ranks(self, tmp_path):
        out = tmp_path / "out.json"
        options = [ONE, "--fathom_ranks=2", f"--benchmark_out={out}"]
        self.run(*options, TORCHELASTIC_USE_AGENT_STORE="True")
        assert list(rows_of(out)) == [MEMNET.format(2)]
        assert read_json(out)["context"]["launcher"] == "fathom_bench"
