"""results/gate: rows with ranks are separate rows, and collectives belong to steps of as many ranks."""

import made_up_ranks
import made_up_run as made_up
import pytest
from gated import ALTERNATING, SUFFIX, classes, repeated, row_of, verdict

PLAIN = made_up.step_name("vgg")
ONE, TWO = (PLAIN.replace("/threads:1", f"/threads:1/ranks:{count}") for count in (1, 2))
REDUCTION = "op/all_reduce/vgg/bucket1/update/device:cpu/threads:1/ranks:{}/"


def run(path, seed, slower=None, steps=True):
    """A run with a step of one process and its op types and ops, and with steps of one and of two ranks."""
    document = made_up.document(("vgg",), modes=("train",), **ALTERNATING)
    rows = made_up_ranks.rows(("vgg",), ranks=(1, 2))
    document["benchmarks"] += [row for row in rows if steps or row["name"].startswith("op/")]
    rows = list(repeated(document["benchmarks"], seed, slower))
    return made_up.write(path, document | {"benchmarks": rows})


@pytest.fixture
def base(tmp_path):
    return run(tmp_path / "base.json", 1)


@pytest.mark.parametrize("step", [PLAIN, ONE, TWO])
def test_a_slower_step_is_slower_alone(tmp_path, base, step):
    code, found = verdict(base, run(tmp_path / "new.json", 2, {step + SUFFIX: 1.1}))
    slower = [name for name, one in classes(found).items() if one == "SLOWER"]
    assert code == 1 and slower == [step]


def test_a_reduction_is_tested_with_the_step_of_as_many_ranks(tmp_path, base):
    slower = {TWO: 1.1, REDUCTION.format(1): 1.2, REDUCTION.format(2): 1.2}
    _, found = verdict(base, run(tmp_path / "new.json", 2, slower))
    tested = [name for name in classes(found) if name.startswith("op/all_reduce/vgg/bucket1")]
    assert tested and all("/ranks:2/" in name for name in tested)
    assert row_of(found, tested[0])["class"] == "SLOWER" and not row_of(found, tested[0])["fails"]
    assert any("/ranks:1/" in name for name in found["untested"])


def test_the_step_of_one_process_does_not_own_reductions(tmp_path, base):
    """A slower step of one process has its ops tested, not the collectives."""
    _, found = verdict(base, run(tmp_path / "new.json", 2, {f"{PLAIN}{SUFFIX}": 1.1}))
    assert any(name.startswith("op/conv2d/vgg/") for name in classes(found))
    assert not [name for name in classes(found) if "/backend:gloo" in name]


def test_reductions_without_a_step_are_tested_alone(tmp_path):
    base = run(tmp_path / "base.json", 1, steps=False)
    new = run(tmp_path / "new.json", 2, {REDUCTION.format(2): 1.2}, steps=False)
    code, found = verdict(base, new)
    slower = [name for name, one in classes(found).items() if one == "SLOWER"]
    assert code == 1 and len(slower) == 1 and slower[0].startswith(REDUCTION.format(2))
