"""results/gate: noise between processes, drift, and rounds."""

import random

import made_up_run as made_up
import pytest
from gated import MEMNET, SLOW_CONVOLUTION, SUFFIX, VGG, base, row_of, run, verdict
from program import refusals

refused = refusals("gate")


def test_another_run_of_the_same_program_sets_the_minimum_shift(tmp_path, base):
    new = run(tmp_path / "new.json", 2, between=0.05)
    assert verdict(base, new)[0] == 1, "processes differ more than their repetitions"
    again = run(tmp_path / "aa.json", 3, between=0.05)
    code, found = verdict(base, new, f"--noise={again}")
    assert code == 0
    assert any("between runs of one program" in note for note in found["notes"])


def test_the_minimum_shift_hides_no_large_change(tmp_path):
    workloads = {"workloads": ("vgg", "memnet", "alexnet", "seq2seq", "speech")}
    base, again = (run(tmp_path / f"{n}.json", n, between=0.01, **workloads) for n in (1, 2))
    new = run(tmp_path / "new.json", 3, {VGG + SUFFIX: 1.3}, between=0.01, **workloads)
    code, found = verdict(base, new, f"--noise={again}")
    assert code == 1 and [row["name"] for row in found["rows"] if row["fails"]] == [VGG + SUFFIX]


def test_alternating_rounds_cancel_drift(tmp_path):
    """Rounds of results/ab: the machine becomes 30 % slower in the middle, the new program is 10 % slower."""
    document = made_up.document(
        workloads=("memnet",), modes=("train",), op_rows=False, profile=False
    )
    (row,) = document["benchmarks"]
    draw = random.Random(1)
    files = []
    for name, factor in (("base", 1), ("new", 1.1)):
        rows = []
        for index in range(9):
            us = row["real_time"] * factor * (1.3 if index > 5 else 1) * draw.uniform(1, 1.01)
            rows.append(row | {"real_time": us, "repetitions": 9, "repetition_index": index})
        files.append((tmp_path / f"{name}.json", document | {"benchmarks": rows}))
    unrelated = [made_up.write(path, made) for path, made in files]
    assert verdict(*unrelated)[0] == 0
    for _, made in files:
        made["context"] |= {"ab_id": "1", "ab_block": "3"}
    alternating = [made_up.write(path, made) for path, made in files]
    code, found = verdict(*alternating)
    assert code == 1 and row_of(found, MEMNET)["change_pct"] == pytest.approx(10, abs=1)


def test_causes_compare_the_same_rounds(tmp_path):
    # The machine becomes four times slower, in other rounds for the base, so medians would compare different speeds.
    document = made_up.document(workloads=("vgg",), modes=("train",), op_rows=False)
    document["context"] |= {"ab_id": "1", "ab_block": "3"}
    draw = random.Random(1)
    files = []
    for name, slower, drift in (
        ("base", {}, [1] * 7 + [4] * 2 + [1] + [4] * 2),
        ("new", SLOW_CONVOLUTION, [1] * 6 + [4] * 6),
    ):
        rows = []
        for row in document["benchmarks"]:
            own = next((by for start, by in slower.items() if row["name"].startswith(start)), 1)
            rows += made_up.repeated([row], [own * by * draw.uniform(1, 1.01) for by in drift])
        files.append(made_up.write(tmp_path / f"{name}.json", document | {"benchmarks": rows}))
    _, found = verdict(*files)
    row = row_of(found, VGG)
    assert row["class"] == "SLOWER" and row["change_pct"] == pytest.approx(10, abs=1)
    assert row["new_us"] / row["base_us"] == pytest.approx(1 + row["change_pct"] / 100)
    (cause,) = row["causes"]
    assert cause["op_type"] == "conv2d" and cause["share"] == pytest.approx(1, abs=0.1)


def test_a_run_is_not_its_own_noise(tmp_path, base):
    new = run(tmp_path / "new.json", 2)
    again = run(tmp_path / "again.json", 3)
    for noise in ([base], [new], [again, again]):
        line = refused(base, new, *(f"--noise={one}" for one in noise))
        assert f"--noise={noise[-1]}: is given twice, expected another run of the base" in line
