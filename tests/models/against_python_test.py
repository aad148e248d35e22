"""Compares five workloads with the same networks in PyTorch (results/eager_steps) with the same weights.

write_step.cc runs a small training step and an inference and writes weights, inputs and results to a file.
python_step.py runs the network in PyTorch on them. The training step uses dropout with the same seed on both sides.
"""

import json
import os
import pathlib
import subprocess

import pytest
from program import PROGRAM, ROOT

DEPENDENCIES = pathlib.Path(os.environ.get("FATHOM_DEPS_DIR", ROOT / ".deps"))
WRITE_STEP = pathlib.Path(PROGRAM).parent / "write_step"
WORKLOADS = ["vgg", "residual", "alexnet", "seq2seq", "speech"]
LIMITS = {"float32": 1e-4, "float64": 1e-9}  # relative to the largest absolute value of a tensor
# Each element is a small sum of large terms, whose rounding float32 shows.
CANCELLING = "gradient of query."


def torch_python():
    """The interpreter beside the pinned LibTorch wheel."""
    for name in ("cuda", "cpu"):
        python = DEPENDENCIES / name / "bin/python"
        if python.exists():
            return python
    pytest.skip("built with another LibTorch than the pinned one")


@pytest.fixture(scope="module", params=LIMITS)
def differences(request, tmp_path_factory):
    """The limit for a precision, and what python_step.py prints."""
    python = torch_python()
    folder = tmp_path_factory.mktemp("steps")
    for workload in WORKLOADS:
        command = [WRITE_STEP, workload, request.param, folder / f"{workload}.pt"]
        subprocess.run(command, check=True, timeout=300)
    (packages,) = (DEPENDENCIES / "pytorch/lib").glob("python3*/site-packages")
    environment = os.environ | {
        "PYTHONPATH": f"{ROOT / 'results'}:{packages}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [python, ROOT / "tests/models/python_step.py", folder, request.param, *WORKLOADS]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    return LIMITS[request.param], json.loads(result.stdout)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_logits_loss_and_gradients_are_pytorch_s(differences, workload):
    limit, found = differences[0], differences[1][workload]
    assert {"loss", "logits"} < found.keys()
    limits = {name: 10 * limit if name.startswith(CANCELLING) else limit for name in found}
    assert not {name: value for name, value in found.items() if not value <= limits[name]}
