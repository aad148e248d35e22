"""results/against_pytorch.py with programs and a PyTorch that fail; its times need PyTorch."""

import json
import os
import shlex
import sys

import made_up_run as made_up
import pytest
from program import ROOT, starts


def compare(tmp_path, script, *options, **settings):
    """Compares a pretended program, which `script` is. Returns the result and the file of --out."""
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    out = tmp_path / "out.jsonl"
    out.write_text("of an earlier comparison\n")
    command = ["vgg/train", "--program", program, "--out", out, *options]
    run = starts(sys.executable)
    return run(ROOT / "results/against_pytorch.py", *command, **settings), out


def against_torch(tmp_path, torch, *options):
    """Compares a program that measures with a PyTorch that is the Python `torch`."""
    row = made_up.row("vgg/train/device:cpu/threads:1/batch:8/precision:fp32/backend:tuned", 1000)
    run = made_up.write(tmp_path / "run.json", {"context": {}, "benchmarks": [row]})
    (tmp_path / "torch.py").write_text(torch)
    script = f"""for option; do case "$option" in
        --benchmark_out=*) cp {shlex.quote(str(run))} "${{option#--benchmark_out=}}";; esac; done"""
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    return compare(tmp_path, script, "--rounds", "1", *options, env=environment)


def test_a_program_that_fails_is_named_with_its_message(tmp_path):
    result, _ = compare(tmp_path, "echo the GPU has gone >&2; exit 4")
    assert result.returncode == 2 and result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"against_pytorch: exit code 4 of {tmp_path / 'program'} --benchmark_f")
    assert line.endswith(": the GPU has gone")


def test_a_program_that_is_not_built_gives_one_line(tmp_path):
    result, _ = compare(tmp_path, "", "--program", tmp_path / "none")
    assert result.returncode == 2 and result.stdout == ""
    expected = f"{tmp_path}/none: No such file or directory, expected a built program (--program)"
    assert result.stderr == f"against_pytorch: {expected}\n"


@pytest.mark.parametrize(
    "script, arguments",
    [
        ("against_pytorch.py", ["vgg/train", "--rounds", "0"]),
        ("against_pytorch.py", ["vgg/train", "--threads", "0"]),
        ("against_gloo.py", ["--rounds", "0"]),
        ("against_gloo.py", ["--ranks", "0"]),
    ],
)
def test_a_count_of_0_is_wrong_usage(script, arguments):
    result = starts(sys.executable)(ROOT / "results" / script, *arguments)
    assert result.returncode == 2 and "'0': expected a whole number above 0" in result.stderr


def test_the_file_of_an_earlier_comparison_is_emptied(tmp_path):
    _, out = compare(tmp_path, "exit 4")
    assert out.read_text() == ""


def test_a_mode_that_fails_is_named_and_the_others_go_on(tmp_path):
    modes = ["--backend", "tuned", "--modes", "eager", "compile"]
    result, out = against_torch(tmp_path, "raise SystemExit('no PyTorch here')", *modes)
    assert result.returncode == 2 and result.stdout == "" and out.read_text() == ""
    row = "against_pytorch: vgg/train, cpu, 1 thread, fp32"
    for line, mode in zip(result.stderr.splitlines(), ("eager", "compile"), strict=True):
        assert line.startswith(f"{row}, {mode}: failed: exit code 2 of ")
        assert line.endswith(": no PyTorch here")


def test_a_python_without_pytorch_is_named_with_the_command_that_installs_it(tmp_path):
    missing = "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')"
    result, _ = against_torch(tmp_path, missing)
    assert result.returncode == 2 and result.stderr.endswith(
        f": {sys.executable}: No module named 'torch', expected a Python with PyTorch: pip install torch\n"
    )


def test_backends_share_the_times_of_pytorch(tmp_path):
    measured = "print(100.0)\nraise SystemExit"
    result, out = against_torch(tmp_path, measured, "--backend", "torch", "tuned")
    lines = result.stdout.splitlines()
    assert result.returncode == 0 and [line.split(", ")[4] for line in lines] == ["torch", "tuned"]
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert [one["backend"] for one in found] == ["torch", "tuned"]
    assert found[0]["pytorch_ms"] == found[1]["pytorch_ms"]


def test_a_mode_that_does_not_end_is_named(tmp_path):
    result, _ = against_torch(tmp_path, "import time; time.sleep(600)", "--limit", "0.5")
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert "eager: failed: not ended in 0.5 s: " in result.stderr


def test_ranks_are_asked_of_the_program(tmp_path):
    result, _ = compare(tmp_path, "exit 4", "--ranks", "2")
    for word in ("--benchmark_filter=^vgg/train/.*/ranks:2/ ", " --fathom_ranks=2"):
        assert word in result.stderr


@pytest.mark.parametrize(
    "row, options",
    [
        ("vgg/train", ["--ranks", "0"]),
        ("vgg/train", ["--ranks", "2", "--device", "cuda"]),
        ("vgg/infer", ["--ranks", "2"]),
    ],
)
def test_ranks_train_on_cpus(row, options):
    result = starts(sys.executable)(ROOT / "results/against_pytorch.py", row, *options)
    assert result.returncode == 2
    assert "--ranks: expected 1 or more, --device cpu and rows of training" in result.stderr
