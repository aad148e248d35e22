"""What stdout gets where it is a terminal: a table of at most 120 columns."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import pytest

from program import ONE_ROW, PROGRAM, QUICK, read_json, strict_json


def run_on_terminal(*arguments, columns=120, stderr=subprocess.DEVNULL, **environment):
    """Runs the program with stdout on a terminal; returns its lines and exit code."""
    terminal, stdout = pty.openpty()
    fcntl.ioctl(stdout, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    command = [PROGRAM, *map(str, arguments)]
    env = os.environ | {"TERM": "xterm"} | environment
    with subprocess.Popen(command, stdout=stdout, stderr=stderr, env=env) as process:
        os.close(stdout)
        output = b""
        try:
            while part := os.read(terminal, 1 << 16):
                output += part
        except OSError:  # the program has closed its side
            pass
    os.close(terminal)
    return output.decode().replace("\r\n", "\n").splitlines(), process.returncode


TWO_KINDS = [*QUICK, "--benchmark_filter=^(memnet/infer|op/matmul/vgg/fc8/forward/.*torch/)"]


def test_a_terminal_gets_a_table_of_120_columns(tmp_path):
    out = tmp_path / "out.json"
    plain = "--benchmark_color=false"
    lines, code = run_on_terminal(*TWO_KINDS, plain, f"--benchmark_out={out}", columns=200)
    assert code == 0 and max(map(len, lines)) <= 120
    shared = lines[0].removeprefix("All rows: ").split()
    assert shared.pop() == "process_time/real_time"
    assert shared == ["device:cpu", "threads:1", "precision:fp32", "backend:torch"]
    some = lines[1].removeprefix("All rows that have them: ").split()
    assert some == ["batch:32", "cache:hot"]
    assert lines[2] == lines[5] == "-" * len(lines[2])
    titles = ["name", "time", "cores", "items/s", "FLOP/s", "FLOP/s", "bytes", "iterations"]
    assert lines[4].split() == titles
    rows_end = next((at for at, line in enumerate(lines) if line.startswith("*")), len(lines))
    names = [line.split()[0] for line in lines[6:rows_end]]
    rows = read_json(out)["benchmarks"]  # whole names stay in the JSON
    assert [re.sub(r"/device:.*", "", row["name"]) for row in rows] == names
    for row in rows:
        tokens = row["name"].removesuffix("/process_time/real_time").split("/")
        assert {token for token in tokens if ":" in token} <= {*shared, *some}


@pytest.mark.parametrize(
    "arguments",
    [
        ["--benchmark_filter=^memnet/", "--fathom_batch=2,4", "--fathom_precision=fp32,bf16"],
        ["--benchmark_filter=^memnet/infer", "--fathom_profile", "--benchmark_repetitions=2"],
        ["--benchmark_filter=^op/[a-z]*/memnet/.*forward", "--fathom_cache=hot,cold"],
    ],
)
def test_a_table_fits_80_columns(arguments):
    plain = "--benchmark_color=false"
    lines, code = run_on_terminal(*QUICK, plain, *arguments, columns=80)
    assert code == 0 and max(map(len, lines)) <= 80
    titles = next(line.split() for line in lines if line.startswith("name"))
    assert "time" in titles


def test_a_terminal_has_five_lines_of_context_at_most(tmp_path):
    printed = tmp_path / "stderr"
    with printed.open("w") as stderr:
        off = "--fathom_machine_check=off"
        _, code = run_on_terminal(*ONE_ROW, off, f"--benchmark_out={tmp_path / 'o'}", stderr=stderr)
    lines = printed.read_text().splitlines()
    assert code == 0 and 3 <= len(lines) <= 5 and max(map(len, lines)) <= 80
    context = read_json(tmp_path / "o")["context"]
    assert context["fathom_version"] in lines[0] and context["libtorch"] in lines[0]
    assert context["cpu"][:20] in lines[1]


def test_a_terminal_has_columns_for_tokens_that_differ():
    batches = ["--fathom_batch=2,4", "--benchmark_filter=^memnet/infer"]
    lines, code = run_on_terminal(*QUICK, *batches, TERM="dumb")
    assert code == 0 and "batch:" not in lines[0]
    assert lines[3].split()[:2] == ["name", "batch"]
    rows = [line for line in lines if line.startswith("memnet")]
    assert [line.split()[:2] for line in rows] == [
        ["memnet/infer", "2"],
        ["memnet/infer", "4"],
    ]


def test_a_terminal_gets_colors_unless_they_are_off():
    colored, _ = run_on_terminal(*ONE_ROW)
    assert any(line.startswith("\033[0;32mop/matmul/vgg/fc8/forward\033[m") for line in colored)
    assert "\033" not in "".join(run_on_terminal(*ONE_ROW, "--benchmark_color=false")[0])


@pytest.mark.parametrize(
    "arguments, environment",
    [
        (["--benchmark_format=console"], {}),
        ([], {"BENCHMARK_FORMAT": "console"}),
        (["--benchmark_counters_tabular=true"], {}),
    ],
)
def test_a_terminal_gets_google_benchmarks_console_on_request(arguments, environment):
    lines, _ = run_on_terminal(*ONE_ROW, "--benchmark_color=false", *arguments, **environment)
    assert lines[1].startswith("Benchmark ")
    assert "/device:cpu/threads:1/precision:fp32/" in lines[-1]


def test_a_terminal_gets_json_on_request():
    lines, _ = run_on_terminal(*ONE_ROW, "--benchmark_format=json")
    (row,) = strict_json("\n".join(lines))["benchmarks"]
    assert "/device:cpu/" in row["name"]
