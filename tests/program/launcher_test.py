"""./fathom_bench from anywhere is the program."""

import os
import pathlib
import subprocess

import pytest

from program import PROGRAM, ROOT, run

LAUNCHER = ROOT / "fathom_bench"
PRESET = pathlib.Path(PROGRAM).parent.name


def launched(path, *arguments, cwd):
    return subprocess.run(
        [path, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "FATHOM_PRESET": PRESET},
    )


def test_works_from_another_directory(tmp_path):
    result = launched(LAUNCHER, "--benchmark_list_tests", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, run("--benchmark_list_tests").stdout)


def test_works_through_a_link(tmp_path):
    link = tmp_path / "bench"
    link.symlink_to(LAUNCHER)
    assert launched(link, "--fathom_models", cwd=tmp_path).stdout == run("--fathom_models").stdout


@pytest.mark.parametrize(
    "arguments, code", [(["--fathom_nothing"], 2), (["--benchmark_filter=nothing"], 3)]
)
def test_hands_on_the_exit_code(tmp_path, arguments, code):
    assert launched(LAUNCHER, *arguments, cwd=tmp_path).returncode == code
