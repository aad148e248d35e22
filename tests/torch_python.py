"""The Python with the pinned PyTorch, for tests."""

import os
import pathlib
import subprocess

import pytest
from program import ROOT

DEPENDENCIES = pathlib.Path(os.environ.get("FATHOM_DEPS_DIR", ROOT / ".deps"))


def torch_python():
    """The interpreter beside the pinned CUDA wheels. PyTorch's Python cannot be imported without CUDA's libraries."""
    python = DEPENDENCIES / "cuda/bin/python"
    if not python.exists():
        pytest.skip(
            "PyTorch's Python needs the CUDA wheels: configure with -DFATHOM_CUDA_WHEELS=ON"
        )
    return python


def packages(name):
    (found,) = (DEPENDENCIES / name / "lib").glob("python3*/site-packages")
    return str(found)


def torch_environment():
    """Variables with which the interpreter finds what PyTorch imports, and results/."""
    paths = [str(ROOT / "results"), packages("pytorch"), packages("results")]
    return os.environ | {"PYTHONPATH": ":".join(paths), "PYTHONDONTWRITEBYTECODE": "1"}


def run_python(*arguments):
    """What the interpreter prints."""
    command = [torch_python(), *map(str, arguments)]
    result = subprocess.run(
        command, env=torch_environment(), capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    return result.stdout
