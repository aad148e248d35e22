"""Compares workloads with the same networks in PyTorch (results/eager_steps) with the same weights.

write_step.cc runs a training step and an inference and writes weights, inputs and results to a file.
python_step.py runs the network in PyTorch on them. The training step uses dropout with the same seed on both sides.
"""

import json
import pathlib
import subprocess

import pytest
from program import PROGRAM, ROOT
from torch_python import run_python, torch_python

WRITE_STEP = pathlib.Path(PROGRAM).parent / "write_step"
WORKLOADS = [  # small
    "vgg",
    "residual",
    "alexnet",
    "seq2seq",
    "nmt",
    "speech",
    "transformer",
    "a3c",
    "deepspeech2",
    "gpt2",
    "gpt2_decode",
    "llama",
    "llama_decode",
    "moe",
    "moe_decode",
    "mamba",
    "mamba_decode",
]
TORCHVISION = [  # workload, size, limit in float64
    ("resnet50", "full", 1e-9),
    ("inception_v3", "full", 1e-9),
    ("faster_rcnn", "small", 1e-7),  # our scale of 0.2 was rounded to float32
]
LIMITS = {"float32": 1e-4, "float64": 1e-9}  # relative to the largest absolute value of a tensor
# Each element is a small sum of large terms, whose rounding float32 shows.
CANCELLING = "gradient of query"


def python_differences(workloads, size, precision, folder):
    """What python_step.py prints."""
    torch_python()  # skips without one
    for workload in workloads:
        command = [WRITE_STEP, workload, size, precision, folder / f"{workload}.pt"]
        subprocess.run(command, check=True, timeout=300)
    return json.loads(
        run_python(ROOT / "tests/models/python_step.py", folder, precision, *workloads)
    )


@pytest.fixture(scope="module", params=LIMITS)
def differences(request, tmp_path_factory):
    """The limit for a precision, and the differences."""
    folder = tmp_path_factory.mktemp("steps")
    return LIMITS[request.param], python_differences(WORKLOADS, "small", request.param, folder)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_logits_loss_and_gradients_are_pytorch_s(differences, workload):
    check(differences[1][workload], differences[0])


@pytest.mark.parametrize("workload, size, limit", TORCHVISION)
def test_results_and_gradients_are_torchvision_s(workload, size, limit, tmp_path):
    # Single precision would show how ill-conditioned batch normalisation of two samples is, and choose other regions of
    # almost equal scores.
    check(python_differences([workload], size, "float64", tmp_path)[workload], limit)


def check(found, limit):
    assert {"loss", "logits"} < found.keys()
    limits = {name: 10 * limit if name.startswith(CANCELLING) else limit for name in found}
    assert not {name: value for name, value in found.items() if not value <= limits[name]}


def test_every_step_of_against_pytorch_can_be_built():
    run_python(
        "-c",
        """import torch, eager_steps
for name, build in eager_steps.ROWS.items():
    if not name.startswith(("llama_1b", "moe/", "moe_decode")):  # 5 GB; llama and moe_6 have the same code
        build(torch)
""",
    )


def test_steps_run_with_channels_last():
    run_python(
        "-c",
        """import torch, eager_steps
for mode in ("train", "infer"):
    step = eager_steps.ROWS[f"deepq/{mode}"](torch)
    step.use("channels_last")
    (images,) = step.images if mode == "train" else step.inputs
    assert images.is_contiguous(memory_format=torch.channels_last), mode
    step()
""",
    )
