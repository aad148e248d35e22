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
        (["--fathom_device=gpu"], "gpu not in {cpu,cuda}"),
        (["--fathom_threads=0"], "--fathom_threads: Value 0 not in range 1 to"),
        (["--fathom_threads=4096"], "the cores that this process may use"),
        (["--fathom_threads=two"], "--fathom_threads"),
        (["--fathom_batch=0"], "--fathom_batch: Value 0 not in range 1 to 65536"),
        (["--fathom_batch=8,8"], "a value occurs twice"),
        (["--fathom_samples=", "--fathom_profile"], "--fathom_samples: found no value, expected "),
        (["--fathom_samples", "--fathom_profile"], "expected --fathom_samples=FILE"),
        (["--fathom_seed=-1"], "--fathom_seed: found -1, expected an integer from 0"),
        (["--fathom_seed=18446744073709551616"], "expected an integer from 0 to 2^64 - 1"),
        (["--fathom_limit_seconds=0"], "--fathom_limit_seconds: found 0, expected a number above"),
        (["--fathom_rank_seconds=1e300"], "--fathom_rank_seconds: found 1e300, expected a number"),
        (["--fathom_precision=fp16"], "fp16 not in {fp32,tf32,bf16}"),
        (["--fathom_device=cpu", "--fathom_precision=tf32"], "expected fp32 or bf16"),
        (["--fathom_cache=warm"], "warm not in {hot,cold}"),
        (["--fathom_mkl=fast"], "fast not in {stock,native}"),
        (["--fathom_malloc=fast"], "fast not in {stock,tuned}"),
        (["--fathom_layout=nhwc"], "nhwc not in {contiguous,channels_last}"),
        (
            ["--fathom_layout=channels_last", "--fathom_explain=vgg/infer"],
            "--fathom_layout=channels_last: not together with --fathom_explain, ",
        ),
        (
            ["--fathom_device=cpu", "--fathom_cuda_graph"],
            "--fathom_cuda_graph: runs on a GPU only",
        ),
        (["--fathom_backend=mkl"], "mkl not in {torch,onednn,cublas,cudnn,native,tuned}"),
        (
            ["--fathom_device=cpu", "--fathom_backend=cudnn"],
            "--fathom_backend=cudnn: runs on a GPU only",
        ),
        (["--fathom_shapes=/nonexistent.json"], "/nonexistent.json: cannot be read (No such file"),
        (["--fathom_shapes=/"], "/: cannot be read (is a folder)"),
        (["--fathom_peaks=/"], "--fathom_peaks=/: cannot be read (is a folder)"),
        (["--fathom_data=/nonexistent"], "/nonexistent: does not exist, expected a folder"),
        (["--fathom_data=/etc/passwd"], "/etc/passwd: is not a directory"),
        (["--fathom_data_errors=fail"], "--fathom_data_errors=fail: needs --fathom_data=DIR"),
        (
            ["--fathom_kernel_choice=choice.json"],
            "--fathom_kernel_choice: needs tuned in --fathom_backend",
        ),
        (["--fathom_data_errors=ignore"], "ignore not in {skip,fail}"),
        (["--fathom_machine_check=no"], "no not in {warn,refuse,off}"),
        (["--fathom_strict"], "was renamed, expected --fathom_machine_check=refuse"),
        (["--fathom_unchecked"], "was renamed, expected --fathom_machine_check=off"),
        (["--fathom_strict_data"], "was renamed, expected --fathom_data_errors=fail"),
        (["--fathom_study=short"], "was renamed, expected --fathom_study=fathom"),
        (["--fathom_rom=/nonexistent.bin"], "fathom_bench: /nonexistent.bin: "),
        (["--fathom_rom=/etc/passwd"], "--fathom_rom"),
        (["--fathom_replay=99"], "--fathom_replay: Value 99 not in range 100 to 10000000"),
        (["--fathom_replay=10000001"], "--fathom_replay: Value 10000001 not in range"),
        (
            ["--fathom_explain=vg/train"],
            "--fathom_explain=vg/train: no such step; did you mean vgg/",
        ),
        (
            ["--fathom_explain=nonsense"],
            "expected a workload of --fathom_models and /train or /inf",
        ),
        (["--fathom_explain=vgg/infer", "--fathom_batch=1"], "not together with --fathom_batch, "),
        (["--fathom_explain=vgg/infer", "--fathom_record=/tmp"], "with --fathom_record, "),
        (["--fathom_explain=vgg/infer", "--fathom_cache=hot"], "with --fathom_cache, "),
        (["--fathom_explain=vgg/infer", "--fathom_profile"], "with --fathom_profile, "),
        (["--fathom_explain=vgg/infer", "--fathom_shapes=a.json"], "with --fathom_shapes, "),
        (["--fathom_explain=vgg/infer", "--benchmark_filter=fc"], "with --benchmark_filter, "),
        (["--benchmark_filter=(vgg"], "not a POSIX extended regular expression"),
        (["--benchmark_repetitions=many"], "--benchmark_repetitions=many: expected an integer"),
        (["--benchmark_repetitions=0"], "--benchmark_repetitions=0: expected an integer from 1"),
        (["--benchmark_min_time=nan"], "--benchmark_min_time=nan: expected a number of seconds"),
        (["--benchmark_min_time=10x"], "--benchmark_min_time=10x: expected a number of seconds"),
        (["--benchmark_perf_counters=CYCLES"], "--benchmark_perf_counters=CYCLES: expected none"),
        (["--fathom_machine_name="], "--fathom_machine_name: found no value"),
        (["--benchmark_format=xml"], "--benchmark_format=xml: expected console, json or csv"),
        (["--benchmark_time_unit=year"], "Google Benchmark refuses"),
        (["--fathom_batch=4", "--fathom_record=x"], "not together with --fathom_record, which rec"),
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
    assert len(lines) <= 110 and max(map(len, lines)) <= 80


def test_help_has_a_sentence_and_a_group_for_each_option(help_):
    options = re.findall(r"^  (--\w+)\S*\s+(\w+)", help_, re.MULTILINE)
    assert {"--fathom_threads", "--benchmark_filter"} <= {flag for flag, _ in options}
    assert len(options) == len(re.findall(r"^  --", help_, re.MULTILINE))
    for group in ("What to run", "How to run it", "What to record", "Robustness", "Print and exit"):
        assert f"\n{group}:\n  --fathom_" in help_


def test_help_names_the_exit_codes(help_):
    codes = help_.partition("Exit codes:")[2]
    assert re.findall(r"\d", codes) == ["0", "2", "3", "4", "5"]
