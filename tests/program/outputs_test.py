"""Outputs that are pipes, devices, descriptors, mounted or shared files, on full disks, and in odd processes."""

import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import pytest

from program import PROGRAM, QUICK as WITH_CHECK, read_json, run, strict_json

QUICK = [*WITH_CHECK, "--fathom_machine_check=off"]
ONE_ROW = [*QUICK, "--benchmark_filter=^op/matmul/vgg/fc8/forward/.*backend:torch/"]
TWO_ROWS = [*QUICK, "--benchmark_filter=^op/matmul/vgg/fc[78]/forward/.*backend:torch/"]
only_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")


def names(document):
    return [row["name"].split("/")[3] for row in document["benchmarks"]]


class Reader(threading.Thread):
    """Reads a pipe to its end."""

    def __init__(self, path):
        os.mkfifo(path)
        super().__init__(daemon=True)
        self.path, self.text = path, None
        self.start()

    def run(self):
        self.text = self.path.read_text()

    def content(self):
        self.join(60)
        return self.text


# --- pipes, devices and descriptors


def test_pipes_get_one_document_and_all_samples(tmp_path):
    out, samples = Reader(tmp_path / "out"), Reader(tmp_path / "samples")
    result = run(*TWO_ROWS, f"--benchmark_out={out.path}", f"--fathom_samples={samples.path}")
    assert result.returncode == 0, result.stderr
    assert names(strict_json(out.content())) == ["fc7", "fc8"]
    lines = map(strict_json, samples.content().splitlines())
    assert {line["name"].split("/")[3] for line in lines} == {"fc7", "fc8"}
    assert sorted(os.listdir(tmp_path)) == ["out", "samples"], "no file stands beside a pipe"


def test_a_pipe_without_a_reader_in_the_end_is_a_failure(tmp_path):
    pipe = tmp_path / "out"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["sh", "-c", f"exec <{pipe}"])
    result = run(*ONE_ROW, f"--benchmark_out={pipe}")
    reader.wait()
    assert result.returncode == 5
    assert result.stderr.splitlines()[-1] == f"fathom_bench: {pipe}: Broken pipe"


@pytest.mark.parametrize("format_", ["console", "json"])
def test_stdout_has_the_json_for_itself(format_):
    out = "--benchmark_out=/dev/stdout"
    result = run(*TWO_ROWS, out, f"--benchmark_format={format_}")
    assert names(strict_json(result.stdout)) == ["fc7", "fc8"]
    assert "op/matmul/vgg/fc7" in result.stderr


def test_a_stdout_that_is_a_file_keeps_what_it_holds(tmp_path):
    log = tmp_path / "log"
    log.write_text("before\n")
    with log.open("a") as file:
        command = [PROGRAM, *ONE_ROW, "--benchmark_out=/dev/stdout"]
        assert subprocess.run(command, stdout=file, stderr=subprocess.DEVNULL).returncode == 0
    first, _, document = log.read_text().partition("\n")
    assert first == "before" and names(strict_json(document)) == ["fc8"]
    assert os.listdir(tmp_path) == ["log"]


def test_a_socket_and_a_descriptor_are_written(tmp_path):
    ours, theirs = socket.socketpair()
    with (tmp_path / "file").open("w") as file:
        command = [PROGRAM, *TWO_ROWS, f"--benchmark_out=/dev/fd/{theirs.fileno()}"]
        command.append(f"--fathom_samples=/dev/fd/{file.fileno()}")
        process = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno(), file.fileno()],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    theirs.close()
    with ours.makefile() as text:
        assert names(strict_json(text.read())) == ["fc7", "fc8"]
    assert process.wait() == 0 and len((tmp_path / "file").read_text().splitlines()) > 1


def test_closed_descriptors_are_not_those_of_files(tmp_path):
    samples = tmp_path / "samples.jsonl"
    for closed in (">&-", "2>&-", "<&- >&- 2>&-"):
        words = [PROGRAM, *ONE_ROW, f"--fathom_samples={samples}"]
        script = " ".join(f"'{word}'" for word in words) + " " + closed
        assert subprocess.run(["sh", "-c", script], capture_output=True).returncode == 0
        assert all(strict_json(line) for line in samples.read_text().splitlines())


# --- files that cannot be renamed over


def test_a_file_that_is_mounted_alone_is_written_in_place(tmp_path):
    if os.getuid() != 0 or not shutil.which("unshare"):
        pytest.skip("only root can mount a file")
    mounted, out = tmp_path / "mounted", tmp_path / "out.json"
    for file in (mounted, out):
        file.write_text("old")
    words = " ".join(f"'{word}'" for word in [PROGRAM, *TWO_ROWS, f"--benchmark_out={out}"])
    script = f"mount --bind {mounted} {out} && {words} && {words} --fathom_resume"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True)
    if "mount: " in done.stderr or "unshare: " in done.stderr:
        pytest.skip("this container allows no mounts")
    assert done.returncode == 0, done.stderr
    assert names(read_json(mounted)) == ["fc7", "fc8"]
    assert "holds 2 of 2 rows" in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["mounted", "out.json"]


@only_root
def test_a_file_in_a_folder_that_takes_no_files_is_written_in_place():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        out = pathlib.Path(folder, "out.json")
        out.touch()
        out.chmod(0o666)
        result = run(*TWO_ROWS, f"--benchmark_out={out}", user=65534)
        assert result.returncode == 0, result.stderr
        assert names(read_json(out)) == ["fc7", "fc8"]
        assert "its folder takes no other files" in result.stderr
        assert os.listdir(folder) == ["out.json"]
        refused = run(*TWO_ROWS, f"--benchmark_out={folder}/other.json", user=65534)
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1
    assert "other.json: cannot be written (Permission denied)" in refused.stderr


# --- two runs


def test_a_second_run_is_refused_at_its_start(tmp_path):
    out = tmp_path / "out.json"
    long = [PROGRAM, *ONE_ROW, "--benchmark_min_time=60", f"--benchmark_out={out}"]
    with subprocess.Popen(long, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        lock = tmp_path / "out.json.lock"
        deadline = time.monotonic() + 60
        while not (lock.exists() and lock.read_text()) and time.monotonic() < deadline:
            time.sleep(0.01)
        for more in ([], ["--fathom_resume"]):
            second = run(*ONE_ROW, f"--benchmark_out={out}", *more)
            assert second.returncode == 2 and second.stderr.count("\n") == 1
            assert f"--benchmark_out={out}: process {first.pid} writes this file" in second.stderr
        assert run("--benchmark_list_tests", f"--benchmark_out={out}").returncode == 0
        first.send_signal(signal.SIGKILL)
    assert lock.exists(), "it was killed"
    assert run(*ONE_ROW, f"--benchmark_out={out}").returncode == 0
    assert os.listdir(tmp_path) == ["out.json"]


def test_processes_of_one_run_share_its_file(tmp_path):
    out = tmp_path / "out.json"
    isolated = run(*ONE_ROW, "--fathom_isolate", f"--benchmark_out={out}")
    assert isolated.returncode == 0, isolated.stderr
    assert names(read_json(out)) == ["fc8"]


# --- text that is not UTF-8


def test_every_file_is_strict_json_whatever_arguments_and_variables_hold(tmp_path):
    folder = os.fsencode(tmp_path) + b"/caf\xe9 \x1b\x01"
    os.mkdir(folder)
    program = folder + b"/bench\xff"
    os.symlink(PROGRAM, program)
    out = folder + b"/out.json"
    rows = b"--benchmark_filter=^(op/matmul/vgg/fc8/forward/.*backend:torch/|autoenc/infer/)"
    arguments = [*map(os.fsencode, QUICK), rows, b"--fathom_data=" + folder]
    variables = os.environ | {"GOMP_SPINCOUNT": "1\udcff\x02", "FATHOM_ODD": "\udcfe"}
    command = [program, *arguments, b"--benchmark_out=" + out, b"--benchmark_format=json"]
    done = subprocess.run(command, env=variables, capture_output=True)
    assert done.returncode == 4, "there are no data in the folder"
    documents = [pathlib.Path(os.fsdecode(out)).read_bytes(), done.stdout]
    for text in documents:
        context = strict_json(text.decode())["context"]
        assert context["data"] == f"{tmp_path}/caf\ufffd \x1b\x01"
        assert context["executable"].endswith("/bench\ufffd")
        assert "GOMP_SPINCOUNT=1\ufffd\x02" in context["openmp"]
        assert "--fathom_data" in context["command_line"]
    errors = pathlib.Path(os.fsdecode(out) + ".errors.jsonl").read_bytes()
    assert "caf\ufffd" in strict_json(errors.decode())["reason"]
    again = subprocess.run([*command, b"--fathom_resume"], env=variables, capture_output=True)
    assert again.returncode == 4, again.stderr
    assert b"holds 1 of 2 rows" in again.stderr


# --- failures of the program


@pytest.mark.parametrize(
    "options",
    [["--benchmark_out=/dev/full"], ["--fathom_samples=/dev/full"]],
    ids=lambda options: options[0],
)
def test_a_full_disk_is_5(options):
    result = run(*ONE_ROW, *options)
    assert result.returncode == 5
    assert result.stderr.splitlines()[-1] == "fathom_bench: /dev/full: No space left on device"


@pytest.mark.parametrize("arguments", [["--help"], ["--benchmark_list_tests"], ONE_ROW])
def test_a_full_stdout_is_5(arguments):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 5
    assert done.stderr.splitlines()[-1] == "fathom_bench: stdout: No space left on device"


def test_a_limit_of_the_size_of_files_is_5(tmp_path):
    out = tmp_path / "out.json"
    out.write_text("old")
    result = run(
        *ONE_ROW,
        f"--benchmark_out={out}",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    assert result.returncode == 5
    assert result.stderr.splitlines()[-1] == f"fathom_bench: {out}: File too large"
    assert out.read_text() == "old" and os.listdir(tmp_path) == ["out.json"]


# --- Google Benchmark's own build


def test_a_debug_build_of_google_benchmark_is_not_taken_for_one_of_the_program(tmp_path):
    out = tmp_path / "out.json"
    result = run(*ONE_ROW, f"--benchmark_out={out}")
    assert "Library was built as DEBUG" not in result.stderr
    context = read_json(out)["context"]
    assert context["library_build_type"] == "release"
    assert re.fullmatch("debug|release", context["google_benchmark_build_type"])
