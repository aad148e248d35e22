"""results/gate: steps on several backends are separate rows, and so are their ops."""

import made_up_backends
import made_up_run as made_up
import pytest
from gated import ALTERNATING, SLOW_CONVOLUTION, SUFFIX, VGG, classes, repeated, row_of, verdict

TUNED = VGG.replace("backend:torch", "backend:tuned")
ONEDNN = VGG.replace("backend:torch", "backend:onednn")
OPS = {
    backend: made_up.op_name("conv2d", "vgg", "first", backend) for backend in ("torch", "onednn")
}


def run(path, seed, slower=None, workloads=("vgg", "memnet")):
    """A run with steps on torch, which are profiled, on oneDNN and on the fastest kernels."""
    document = made_up.document(workloads, modes=("train",), **ALTERNATING)
    for workload in workloads:
        steps = made_up.step(workload, profile=False)
        document["benchmarks"] += made_up_backends.on_all(steps)
    rows = list(repeated(document["benchmarks"], seed, slower))
    return made_up.write(path, document | {"benchmarks": rows})


@pytest.fixture
def base(tmp_path):
    return run(tmp_path / "base.json", 1)


def test_a_slower_step_on_tuned_does_not_make_the_step_on_torch_slower(tmp_path, base):
    code, found = verdict(base, run(tmp_path / "new.json", 2, {TUNED: 1.1}))
    slower = [name for name, one in classes(found).items() if one == "SLOWER"]
    assert code == 1 and slower == [TUNED]


def test_the_profile_of_torch_does_not_explain_a_step_on_tuned(tmp_path, base):
    slower = {TUNED: 1.1, f"{VGG}/op:conv2d": 1 + 1 / 7, "op/conv2d/vgg": 1 + 1 / 7}
    _, found = verdict(base, run(tmp_path / "new.json", 2, slower))
    assert row_of(found, TUNED)["class"] == "SLOWER" and row_of(found, TUNED)["causes"] == []
    assert {f"{VGG}/op:conv2d{SUFFIX}", OPS["torch"] + SUFFIX} < set(found["untested"])


def test_a_step_on_torch_is_explained_by_its_own_op_types(tmp_path, base):
    slower = SLOW_CONVOLUTION | {"op/conv2d/vgg": 1 + 1 / 7, TUNED: 0.9}
    _, found = verdict(base, run(tmp_path / "new.json", 2, slower))
    (cause,) = row_of(found, VGG)["causes"]
    assert cause["op_type"] == "conv2d" and cause["share"] == pytest.approx(1, abs=0.1)
    assert classes(found)[OPS["torch"]] == "SLOWER" and classes(found)[TUNED] == "FASTER"
    assert OPS["onednn"] + SUFFIX in found["untested"], "it belongs to the step on oneDNN"


def test_ops_on_a_library_belong_to_the_step_on_it(tmp_path, base):
    slower = {ONEDNN: 1.1, "op/conv2d/vgg": 1 + 1 / 7}
    _, found = verdict(base, run(tmp_path / "new.json", 2, slower))
    assert classes(found)[OPS["onednn"]] == "SLOWER"
    assert OPS["torch"] + SUFFIX in found["untested"]
