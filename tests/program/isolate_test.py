"""--fathom_isolate: when the process of a row fails, the other rows run and the file is valid."""

import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import time

import pytest

from program import PROGRAM, QUICK, WITH_PEAKS, read_json, run, strict_json

FIRST = "memnet/infer/device:cpu/threads:1/batch:32/precision:fp32/backend:torch"
ROWS = "--benchmark_filter=^(memnet/infer|op/matmul/vgg/fc8/forward/.*torch/)"
SUFFIX = "/process_time/real_time"


@pytest.fixture(name="whole", scope="module")
def run_in_one_process(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "out.json"
    assert run(*QUICK, ROWS, f"--benchmark_out={out}").returncode == 0
    return out


def isolated(folder, *arguments):
    return run(
        *QUICK, ROWS, f"--benchmark_out={folder / 'out.json'}", "--fathom_isolate", *arguments
    )


def rows(folder):
    return read_json(folder / "out.json")["benchmarks"]


def errors(folder):
    lines = (folder / "out.json.errors.jsonl").read_text().splitlines()
    return {line["name"]: line["reason"] for line in map(strict_json, lines)}


def is_steady(name):
    """Rows of op types and variation coefficients may differ between two runs."""
    return "/op:" not in name and not name.endswith("_cv")


def test_rows_are_those_of_one_process(tmp_path):
    arguments = ["--fathom_profile", "--benchmark_repetitions=2"]
    result = isolated(tmp_path, *arguments)
    assert result.returncode == 0, result.stderr
    alone = tmp_path / "alone.json"
    run(*QUICK, ROWS, *arguments, f"--benchmark_out={alone}")
    # On a busy machine a row may have fewer samples, or stand still.
    of_five_samples = {"p50_us", "p95_us", "standstill_us"}
    found, expected = (
        {
            row["name"]: set(row) - of_five_samples
            for row in read_json(path)["benchmarks"]
            if is_steady(row["name"])
        }
        for path in (tmp_path / "out.json", alone)
    )
    assert found == expected
    assert any("/op:matmul/" in row["name"] for row in rows(tmp_path))
    context, as_one = (read_json(path)["context"] for path in (tmp_path / "out.json", alone))
    assert context.keys() == as_one.keys()


@pytest.mark.parametrize("file_format", ["csv", "console"])
def test_files_of_google_benchmark_are_refused(tmp_path, file_format):
    out = tmp_path / f"out.{file_format}"
    result = isolated(tmp_path, f"--benchmark_out={out}", f"--benchmark_out_format={file_format}")
    assert result.returncode == 2 and "expected json" in result.stderr
    assert not out.exists()


def test_the_console_shows_the_rows_once(tmp_path):
    lines = isolated(tmp_path).stdout.splitlines()
    assert [line.split()[0] for line in lines if SUFFIX in line] == [
        row["name"] for row in rows(tmp_path)
    ]
    assert sum(line.startswith("Benchmark ") for line in lines) == 1


def test_samples_of_all_rows_are_in_one_file(tmp_path):
    samples = tmp_path / "steps.jsonl"
    assert isolated(tmp_path, f"--fathom_samples={samples}").returncode == 0
    names = {strict_json(line)["name"] for line in samples.read_text().splitlines()}
    assert names == {row["name"] for row in rows(tmp_path)}


class Started:
    """A started isolated run and the process of its first row."""

    def __init__(self, folder, *arguments):
        out = f"--benchmark_out={folder / 'out.json'}"
        self.process = subprocess.Popen(
            [PROGRAM, *QUICK, ROWS, out, "--fathom_isolate", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.child = self.wait_for_child()

    def wait_for_child(self):
        parent = self.process.pid
        for _ in range(2000):
            for child in pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
                if b"--benchmark_filter=^" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes():
                    return int(child)
            time.sleep(0.01)
        raise TimeoutError("the process of a row did not start")

    def ended(self):
        _, stderr = self.process.communicate(timeout=100)
        return self.process.returncode, stderr


@pytest.mark.parametrize(
    "number, reason",
    [
        (signal.SIGABRT, "ended by signal 6 (Aborted)"),
        (signal.SIGSEGV, "ended by signal 11 (Segmentation fault)"),
        (signal.SIGKILL, "ended by signal 9 (Killed): out of memory, or killed by another process"),
    ],
)
def test_a_row_that_dies_is_one_failure(tmp_path, number, reason):
    run_ = Started(tmp_path)
    os.kill(run_.child, number)
    code, stderr = run_.ended()
    assert code == 4 and f"{FIRST}{SUFFIX}: failed: {reason}" in stderr.splitlines()
    assert errors(tmp_path) == {FIRST + SUFFIX: reason}
    assert [row["name"].split("/")[0] for row in rows(tmp_path)] == ["op"]


def test_a_row_that_hangs_is_one_failure(tmp_path):
    run_ = Started(tmp_path, "--fathom_limit_seconds=5")
    os.kill(run_.child, signal.SIGSTOP)
    code, _ = run_.ended()
    assert code == 4
    assert errors(tmp_path) == {
        FIRST + SUFFIX: "took longer than the 5 s of --fathom_limit_seconds"
    }
    assert len(rows(tmp_path)) == 1


def test_a_row_that_takes_more_than_the_memory_limit_is_one_failure(tmp_path):
    result = isolated(tmp_path, "--fathom_limit_gb=0.02")  # LibTorch alone takes more
    assert result.returncode == 4
    assert set(errors(tmp_path).values()) == {
        "took more memory than the 0.02 GB of --fathom_limit_gb"
    }


def test_a_row_over_the_memory_limit_is_not_begun(tmp_path):
    shapes = tmp_path / "shapes.json"
    large = {
        "op": "matmul",
        "layer": "large",
        "pass": "forward",
        "count": 1,
        "m": 16384,
        "n": 16384,
    }
    shapes.write_text(json.dumps({"workload": "mine", "rows": [large | {"k": 16384}]}))
    result = run(
        *QUICK,
        "--benchmark_filter=^op/matmul/(mine|vgg/fc8/forward)/.*torch/",
        f"--benchmark_out={tmp_path / 'out.json'}",
        f"--fathom_shapes={shapes}",
        "--fathom_limit_gb=1",  # implies --fathom_isolate
    )
    assert result.returncode == 4
    (reason,) = errors(tmp_path).values()
    assert re.match(
        r"the op with its check needs \d+ bytes of memory, but --fathom_limit_gb allows 1000000000; ",
        reason,
    )
    assert [row["name"].split("/")[2] for row in rows(tmp_path)] == ["vgg"]


def test_a_row_that_fails_says_why(tmp_path):
    result = isolated(tmp_path, "--fathom_data=" + str(tmp_path))
    assert result.returncode == 4
    assert "babi" in errors(tmp_path)[FIRST + SUFFIX]
    assert len(rows(tmp_path)) == 1


def test_a_killed_run_leaves_nothing_and_resumes(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    run_ = Started(tmp_path)
    run_.process.kill()
    run_.process.wait()
    for _ in range(500):
        if not pathlib.Path(f"/proc/{run_.child}").exists():
            break
        time.sleep(0.01)
    assert not pathlib.Path(f"/proc/{run_.child}").exists()
    assert len(list(tmp_path.glob("fathom_bench.*"))) == 1
    result = isolated(tmp_path, "--fathom_resume")
    assert result.returncode == 0 and len(rows(tmp_path)) == 2
    assert not list(tmp_path.glob("*fathom_bench.*"))
    again = isolated(tmp_path, "--fathom_resume")
    assert again.returncode == 0 and "holds 2 of 2 rows" in again.stderr


@pytest.mark.parametrize("how", ["--fathom_isolate", "--benchmark_min_time=0.01"])
def test_a_full_disk_keeps_what_was_written(tmp_path, whole, how):
    """Simulates a full disk by a limit on the size of files."""
    out = tmp_path / "out.json"
    limit = whole.stat().st_size - 100
    result = run(
        *(*QUICK, ROWS, how, f"--benchmark_out={out}"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        restore_signals=False,  # Python ignores SIGXFSZ
    )
    assert result.returncode == 5
    assert f"fathom_bench: {out}: File too large" in result.stderr.splitlines()
    assert len(rows(tmp_path)) == 1 and not (tmp_path / "out.json.part").exists()


def test_list_tests_ignores_isolation():
    assert (
        run(ROWS, "--fathom_isolate", "--benchmark_list_tests").stdout
        == run(ROWS, "--benchmark_list_tests").stdout
    )


def test_peaks_of_an_earlier_run_are_taken(tmp_path, whole):
    out = f"--benchmark_out={tmp_path / 'out.json'}"
    earlier = [*WITH_PEAKS, ROWS, "--fathom_isolate", f"--fathom_peaks={whole}"]
    assert run(*earlier, out).returncode == 0
    before, now = (
        {key: value for key, value in read_json(path)["context"].items() if key.startswith("peak_")}
        for path in (whole, tmp_path / "out.json")
    )
    assert now == before != {}


@pytest.mark.parametrize("text", ["", "{", '{"context": {"peak_bytes_cpu_threads1": "fast"}}'])
def test_a_file_without_peaks_is_refused(tmp_path, text):
    file = tmp_path / "peaks.json"
    file.write_text(text)
    result = run(*WITH_PEAKS, ROWS, f"--fathom_peaks={file}")
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert f"--fathom_peaks={file}: no peak_... in its context, expected" in result.stderr


def test_the_peaks_of_another_cpu_are_refused(tmp_path):
    file = tmp_path / "peaks.json"
    peak = "peak_flops_cpu_threads1_fp32"
    file.write_text(json.dumps({"context": {"cpu": "Z80", peak: "0.001 GFLOP/s, x"}}))
    result = run(*WITH_PEAKS, ROWS, f"--fathom_peaks={file}")
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert f"--fathom_peaks={file}: has the peaks of Z80, this machine is " in result.stderr


@pytest.mark.parametrize(
    "arguments, found",
    [
        (["--fathom_isolate", "--fathom_explain=vgg/train"], "not together with --fathom_explain"),
        (["--fathom_isolate", "--fathom_record=x"], "not together with --fathom_record"),
        (
            ["--fathom_limit_seconds=5", "--fathom_record=x"],
            "--fathom_limit_seconds: not together with --fathom_record",
        ),
        (
            ["--fathom_limit_gb=5", "--fathom_explain=vgg/train"],
            "--fathom_limit_gb: not together with --fathom_explain",
        ),
        (["--fathom_isolate", "--fathom_limit_gb=0"], "--fathom_limit_gb"),
        (["--fathom_isolate", "--fathom_limit_seconds=soon"], "--fathom_limit_seconds"),
    ],
)
def test_conflicting_options_are_refused(arguments, found):
    result = run(*arguments)
    assert result.returncode == 2 and found in result.stderr and result.stderr.count("\n") == 1
