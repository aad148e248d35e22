"""tests/libtorch in a scratch project: what it refuses."""

import os
import shutil
import subprocess

import pytest

from program import ROOT


@pytest.fixture
def start(tmp_path):
    """Runs a copy of the script, without a package index."""
    for name in ("cmake/setup.sh", "tests/libtorch"):
        (tmp_path / name).parent.mkdir()
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "cmake/packages.txt").touch()

    def run(*arguments):
        return subprocess.run(
            [tmp_path / "tests/libtorch", *arguments],
            env=os.environ | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)},
            capture_output=True,
            text=True,
        )

    return run


@pytest.mark.parametrize("arguments", [[], ["abc"], ["-k", "conv2d"], ["2.15"]])
def test_a_version_is_needed(start, arguments):
    refused = start(*arguments)
    (line,) = refused.stderr.splitlines()
    assert refused.returncode == 2
    assert line == "fathom_bench: usage: tests/libtorch VERSION [PYTEST OPTION...], such as 2.15.0"


def test_an_old_version_is_refused(start):
    refused = start("2.9.0")
    (line,) = refused.stderr.splitlines()
    assert refused.returncode == 2
    assert line == "fathom_bench: LibTorch 2.9.0 is too old: 2.11.0 or newer is needed"


def test_an_unknown_version_is_one_line_and_leaves_nothing(start, tmp_path):
    refused = start("2.99.0")
    lines = refused.stderr.splitlines()
    assert refused.returncode == 2
    assert lines[0] == "fathom_bench: downloading LibTorch 2.99.0 (0.6 GB)"
    assert lines[1:] == [
        "fathom_bench: could not install LibTorch 2.99.0: No matching distribution found for torch==2.99.0"
    ]
    assert not list(tmp_path.glob("build/libtorch-2.99.0/*"))
