"""--fathom_network: networks that PyTorch's Python has written are workloads, and compute what they compute there."""

import json
import pathlib
import subprocess
import zipfile

import pytest

from program import PROGRAM, QUICK, ROOT, read_json, run
from torch_python import run_python

RUN_NETWORK = pathlib.Path(PROGRAM).parent / "run_network"
STEP_INPUTS = "float32:2x3x32x32,int64:2:1000"


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    """The folder with the networks of examples/my_network."""
    folder = tmp_path_factory.mktemp("networks")
    run_python(ROOT / "examples/my_network/export.py", folder)
    return folder


def test_outputs_are_those_of_python(networks, tmp_path):
    files = [networks / "resnet18.pt2", networks / "encoder.pt2"]
    for file in files:
        subprocess.run([RUN_NETWORK, file, tmp_path / f"{file.name}.out"], check=True, timeout=300)
    differences = json.loads(run_python(ROOT / "tests/models/network_outputs.py", tmp_path, *files))
    assert list(differences) == ["resnet18.pt2", "encoder.pt2"]
    assert max(differences.values()) < 1e-5


def test_a_network_has_the_rows_of_a_workload(networks, tmp_path):
    out = tmp_path / "out.json"
    result = run(
        *QUICK,
        f"--fathom_network={networks / 'encoder.pt2'}",
        "--fathom_batch=1,8",
        "--benchmark_filter=^(encoder/|op/(matmul|layer_norm)/encoder)",
        f"--benchmark_out={out}",
    )
    assert result.returncode == 0, result.stderr
    document = read_json(out)
    names = [row["name"] for row in document["benchmarks"]]
    batches = [name.split("/")[4] for name in names if name.startswith("encoder/infer/")]
    assert batches == ["batch:1", "batch:8"]
    layer = "op/matmul/encoder/layers_0_linear1/forward/"
    assert any(name.startswith(layer) for name in names)
    assert not any(name.startswith("encoder/train/") for name in names)
    step = document["benchmarks"][0]
    assert step["params"] == 4 * (4 * 256 * 256 + 4 * 256 + 2 * 1024 * 256 + 1024 + 256 + 4 * 256)
    # Products of a layer for each of 128 tokens, of 256 values: projections, attention, feed-forward.
    token = 4 * 256 * 256 + 2 * 128 * 256 + 2 * 256 * 1024
    assert step["flops_per_step"] == 2 * 4 * 128 * token
    assert document["context"]["fathom_network"]


def test_a_training_step_has_rows_of_training(networks):
    result = run(
        *QUICK,
        f"--fathom_network={networks / 'resnet18_step.pt'}",
        f"--fathom_network_inputs={STEP_INPUTS}",
        "--benchmark_filter=^resnet18_step/train",
        "--benchmark_format=csv",
    )
    assert result.returncode == 0, result.stderr
    assert "resnet18_step/train/device:cpu/threads:1/batch:2/" in result.stdout
    assert "resnet18_step/infer: no rows: its inference changes its buffer" in result.stderr


def test_explain_says_what_has_no_rows(networks):
    result = run(
        *QUICK, f"--fathom_network={networks / 'encoder.pt2'}", "--fathom_explain=encoder/infer"
    )
    assert result.returncode == 0, result.stderr
    assert "Where the time of encoder/infer goes" in result.stdout
    refused = run(f"--fathom_network={networks / 'encoder.pt2'}", "--fathom_explain=encoder/train")
    assert refused.returncode == 2
    assert (
        "--fathom_explain=encoder/train: the network cannot be explained: it does not return one number"
        in refused.stderr
    )


def test_models_lists_the_network(networks):
    result = run(f"--fathom_network={networks / 'encoder.pt2'}", "--fathom_models")
    assert "| encoder | the network in " in result.stdout


def test_a_batch_that_the_export_fixed_is_a_line(networks):
    result = run(
        *QUICK,
        f"--fathom_network={networks / 'resnet18.pt2'}",
        "--fathom_batch=5000",
        "--benchmark_filter=^resnet18/",
    )
    assert result.returncode == 3
    assert "--fathom_batch=5000: no rows of resnet18, which takes batches of 1 to 4096" in (
        result.stderr
    )


@pytest.fixture
def package(tmp_path):
    """A network that AOTInductor compiled for two threads (compiled_network.cc)."""
    library = pathlib.Path(PROGRAM).resolve().parent / "compiled_network.so"
    file = tmp_path / "compiled.pt2"
    with zipfile.ZipFile(file, "w") as archive:
        stem = "compiled/data/aotinductor/model/net.wrapper"
        archive.write(library, stem + ".so")
        archive.writestr(stem + ".cpp", "#pragma omp parallel num_threads(2)")
        archive.writestr(stem + "_metadata.json", json.dumps({"AOTI_DEVICE_KEY": "cpu"}))
        archive.writestr("compiled/version", "3")
    return file


def test_a_compiled_network_has_rows_on_inductor(package):
    network = [f"--fathom_network={package}", "--fathom_network_inputs=float32:4x3"]
    listed = run(*network, "--benchmark_filter=^compiled", "--benchmark_list_tests")
    assert listed.stdout.split() == [
        "compiled/infer/device:cpu/threads:2/batch:4/precision:fp32/backend:inductor/process_time/real_time"
    ]
    assert "compiled on inductor: rows of 2 threads only, which the package fixes" in listed.stderr
    timed = run(*QUICK, *network, "--benchmark_filter=^compiled", "--fathom_threads=2")
    assert timed.returncode == 0, timed.stderr
    explained = run(*network, "--fathom_explain=compiled/infer")
    assert "it is compiled; give the file of torch.export.save, too" in explained.stderr
    without = run("--fathom_backend=inductor", "--benchmark_filter=^vgg/infer")
    assert without.returncode == 2
    assert "--fathom_backend=inductor: needs a network that AOTInductor compiled" in without.stderr
