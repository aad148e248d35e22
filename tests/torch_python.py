"""The Python with the pinned PyTorch, for tests."""

import os
import pathlib

import pytest
from program import ROOT

DEPENDENCIES = pathlib.Path(os.environ.get("FATHOM_DEPS_DIR", ROOT / ".deps"))


def torch_python():
    """The interpreter beside the pinned LibTorch wheel."""
    for name in ("cuda", "cpu"):
        python = DEPENDENCIES / name / "bin/python"
        if python.exists():
            return python
    pytest.skip("built with another LibTorch than the pinned one")


def packages(name):
    (found,) = (DEPENDENCIES / name / "lib").glob("python3*/site-packages")
    return str(found)


def torch_environment():
    """Variables with which the interpreter finds what PyTorch imports, and results/."""
    paths = [str(ROOT / "results"), packages("pytorch"), packages("results")]
    return os.environ | {"PYTHONPATH": ":".join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
