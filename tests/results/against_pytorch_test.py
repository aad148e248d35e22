"""results/against_pytorch.py with programs that fail; its times need PyTorch."""

import sys

from program import ROOT, starts


def compare(tmp_path, script):
    """Compares a pretended program, which `script` is. Returns the result and the file of --out."""
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    out = tmp_path / "out.jsonl"
    out.write_text("of an earlier comparison\n")
    options = ["--program", program, "--out", out]
    run = starts(sys.executable)
    return run(ROOT / "results/against_pytorch.py", "vgg/train", *options), out


def test_a_program_that_fails_is_named_with_its_message(tmp_path):
    result, _ = compare(tmp_path, "echo the GPU has gone >&2; exit 4")
    assert result.returncode == 1 and result.stdout == ""
    message, line = result.stderr.splitlines()
    assert message == "the GPU has gone"
    assert line.startswith(f"against_pytorch: exit code 4 of {tmp_path / 'program'} --benchmark_f")


def test_the_file_of_an_earlier_comparison_is_emptied(tmp_path):
    _, out = compare(tmp_path, "exit 4")
    assert out.read_text() == ""
