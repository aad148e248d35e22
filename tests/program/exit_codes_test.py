"""Exit codes, one-line messages for wrong usage, and --help."""

import re
import resource

import pytest

from program import ONE_ROW, PROGRAM, WITHOUT_GPU, run


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--fathom_thread=2"], "did you mean --fathom_threads?"),
        (["--benchmark_fliter=vgg"], "did you mean --benchmark_filter?"),
        (["vgg/train"], "unknown argument vgg/train"),
        (["--fathom_shapes=/nonexistent.json"], "/nonexistent.json: cannot be read (No such file"),
        (["--fathom_shapes=/"], "/: cannot be read (is a folder)"),
        (["--fathom_peaks=/"], "--fathom_peaks=/: cannot be read (is a folder)"),
        (["--benchmark_filter=(vgg"], "not a POSIX extended regular expression"),
        (["--benchmark_time_unit=year"], "Google Benchmark refuses"),
        (["--fathom_peaks=/nonexistent.json"], "json: cannot be read (No such file"),
        (["--benchmark_out=/nonexistent/a"], "be written (there is no folder /nonexistent)"),
        (["--benchmark_out=/"], "--benchmark_out=/: cannot be written (Is a directory)"),
        (["--benchmark_out=" + 256 * "x"], "x: cannot be written (File name too long"),
        (["--benchmark_out=" + 245 * "x"], "(File name too long: xxxxx"),
        (["--benchmark_out=/dev/fd/99"], "/dev/fd/99: cannot be written (Bad file descriptor)"),
        (["--benchmark_out_format=csv", "--benchmark_out=/no/a.csv"], "(there is no folder /no)"),
        (["--fathom_samples=/nonexistent/a"], "be written (there is no folder /nonexistent)"),
        (["--fathom_samples=/"], "--fathom_samples=/: cannot be written (Is a directory)"),
        (["--fathom_resume", "--benchmark_out=/dev/null"], "is a pipe or a device, expected a fi"),
    ],
)
def test_wrong_usage_is_2_with_one_line(arguments, message):
    result = run(*arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert [line for line in result.stderr.splitlines() if line.startswith("fathom_bench: ")]
    assert "process_time/real_time" not in result.stdout


def test_absent_device_is_2():
    result = run("--fathom_device=cuda", "--benchmark_filter=^none$", env=WITHOUT_GPU)
    assert result.returncode == 2
    assert result.stderr.startswith("fathom_bench: --fathom_device=cuda: ")


def test_a_rom_without_ale_is_2_and_names_the_cmake_option():
    result = run("--benchmark_list_tests", "--fathom_rom=/nonexistent.bin")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    if "does not exist" in result.stderr:
        pytest.skip("this program is built with ALE")
    assert "-DFATHOM_ALE=ON" in result.stderr


def test_nothing_matched_is_3_and_names_the_nearest():
    result = run("--benchmark_filter=vg/train")
    assert result.returncode == 3
    assert "no benchmark matches --benchmark_filter=vg/train" in result.stderr
    assert "nearest: vgg/train/" in result.stderr


def test_a_failed_benchmark_is_4(tmp_path):
    if "sanitize" in PROGRAM:
        pytest.skip("AddressSanitizer needs more address space than the limit of this test")
    limit = 8 << 30
    result = run(
        "--fathom_device=cpu",
        "--fathom_threads=1",
        "--fathom_batch=65536",
        "--benchmark_filter=vgg/infer",
        f"--benchmark_out={tmp_path}/out.json",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert result.returncode == 4, result.stderr
    failures = [line for line in result.stderr.splitlines() if ": failed: " in line]
    assert len(failures) == 1 and failures[0].startswith("vgg/infer/") and "allocate" in failures[0]
    assert "vgg/infer/" not in result.stdout
    errors = (tmp_path / "out.json.errors.jsonl").read_text()
    assert errors.count("\n") == 1 and "vgg/infer/" in errors and "allocate" in errors


def test_an_error_of_libtorch_is_one_line(tmp_path):
    if "sanitize" in PROGRAM:
        pytest.skip("AddressSanitizer needs more address space than the limit of this test")
    limit = 5 << 29
    result = run(
        f"--fathom_record={tmp_path}",
        "--fathom_device=cpu",
        "--benchmark_filter=^vgg/train",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert result.returncode == 5, result.stderr
    assert result.stderr.count("\n") == 1 and "can't allocate memory" in result.stderr


def test_success_is_0():
    assert run(*ONE_ROW).returncode == 0


@pytest.fixture(name="help_", scope="module")
def help_text():
    result = run("--help")
    assert result.returncode == 0 and result.stderr == ""
    return result.stdout


def test_help_fits_80_columns(help_):
    lines = help_.splitlines()
    assert len(lines) <= 120 and max(map(len, lines)) <= 80


def test_help_has_a_sentence_and_a_group_for_each_option(help_):
    options = re.findall(r"^  (--\w+)\S*\s+(\w+)", help_, re.MULTILINE)
    assert {"--fathom_threads", "--benchmark_filter"} <= {flag for flag, _ in options}
    assert len(options) == len(re.findall(r"^  --", help_, re.MULTILINE))
    for group in ("What to run", "How to run it", "What to record", "Robustness", "Print and exit"):
        assert f"\n{group}:\n  --fathom_" in help_


def test_help_names_the_exit_codes(help_):
    codes = help_.partition("Exit codes:")[2]
    assert re.findall(r"\d", codes) == ["0", "2", "3", "4", "5"]
