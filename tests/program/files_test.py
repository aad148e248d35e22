"""Files that options name are not overwritten by others, and no unfinished one is left."""

import pathlib
import subprocess

import pytest

from program import ONE_ROW, PROGRAM, QUICK, run


@pytest.mark.parametrize("read", ["shapes", "peaks"])
@pytest.mark.parametrize("written", ["--benchmark_out", "--fathom_samples"])
def test_a_file_that_is_read_is_not_written(tmp_path, monkeypatch, read, written):
    file = tmp_path / "in.json"
    file.write_text("mine")
    monkeypatch.chdir(tmp_path)
    result = run(f"--fathom_{read}={file}", f"{written}=in.json")  # another way to write its path
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    expected = f"--fathom_{read}={file}: {written}=in.json writes this file; expected another one"
    assert expected in result.stderr
    assert file.read_text() == "mine"


def test_two_outputs_are_two_files(tmp_path):
    out = tmp_path / "out.json"
    result = run(f"--benchmark_out={out}", f"--fathom_samples={out}")
    assert result.returncode == 2 and "writes this file" in result.stderr
    assert run(*ONE_ROW, "--benchmark_out=/dev/null", "--fathom_samples=/dev/null").returncode == 0


def test_a_run_does_not_remove_the_choice_that_it_repeats(tmp_path):
    out = tmp_path / "out.json"
    choice = tmp_path / "out.json.kernels.json"
    choice.write_text('{"rows": []}')
    repeat = ["--fathom_backend=tuned", f"--fathom_kernel_choice={choice}"]
    result = run(*repeat, f"--benchmark_out={out}")
    assert result.returncode == 2 and "writes this file" in result.stderr
    assert choice.read_text() == '{"rows": []}'


def test_a_run_without_a_row_leaves_no_file(tmp_path):
    run(*QUICK, "--benchmark_list_tests", f"--benchmark_out={tmp_path / 'out.json'}")
    assert not list(tmp_path.iterdir())


def test_a_file_of_an_earlier_run_is_named_where_no_row_was_measured(tmp_path):
    out = tmp_path / "out.json"
    assert run(*ONE_ROW, f"--benchmark_out={out}").returncode == 0
    earlier = out.read_text()
    (tmp_path / "data").mkdir()
    failing = ["--fathom_device=cpu", "--benchmark_filter=^autoenc/infer", "--fathom_batch=2"]
    result = run(*failing, f"--fathom_data={tmp_path / 'data'}", f"--benchmark_out={out}")
    assert result.returncode == 4 and out.read_text() == earlier
    assert f"no row was measured; {out} is of an earlier run" in result.stderr


def test_a_new_run_removes_what_earlier_ones_left_beside_its_file(tmp_path):
    out = tmp_path / "out.json"
    kinds = ("errors.jsonl", "explain.json", "kernels.json", "samples.jsonl")
    for kind in kinds:
        (tmp_path / f"out.json.{kind}").write_text("old")
    assert run(*ONE_ROW, f"--benchmark_out={out}").returncode == 0
    assert list(tmp_path.iterdir()) == [out]


def test_a_run_that_ends_before_its_first_row_keeps_what_earlier_ones_left(tmp_path):
    out = tmp_path / "out.json"
    beside = [tmp_path / f"out.json.{kind}" for kind in ("errors.jsonl", "samples.jsonl")]
    for file in beside:
        file.write_text("old")
    row = ["--fathom_device=cpu", "--fathom_threads=1", "--benchmark_filter=^memnet/infer/"]
    files = [f"--benchmark_out={out}", f"--fathom_samples={beside[1]}"]
    process = subprocess.Popen(
        [PROGRAM, *row, "--benchmark_min_time=10", *files],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not process.stderr.readline().startswith("Running "):  # the context, before the row
        assert process.poll() is None
    process.kill()
    process.wait()
    assert [file.read_text() for file in beside] == ["old", "old"]


def test_a_failure_beside_a_device_leaves_no_file(tmp_path):
    (tmp_path / "data").mkdir()
    failing = ["--fathom_device=cpu", "--benchmark_filter=^autoenc/infer", "--fathom_batch=2"]
    result = run(*failing, f"--fathom_data={tmp_path / 'data'}", "--benchmark_out=/dev/null")
    assert result.returncode == 4
    assert not pathlib.Path("/dev/null.errors.jsonl").exists()
