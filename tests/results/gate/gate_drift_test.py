"""results/gate: rounds of results/ab on a drifting machine."""

import random

import made_up_run as made_up
import pytest
from gated import ALTERNATING, MEMNET, SLOW_CONVOLUTION, VGG, row_of, verdict


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
    for _, made in files:
        made["context"] |= ALTERNATING
    alternating = [made_up.write(path, made) for path, made in files]
    code, found = verdict(*alternating)
    assert code == 1 and row_of(found, MEMNET)["change_pct"] == pytest.approx(10, abs=1)


def test_causes_compare_the_same_rounds(tmp_path):
    # The machine becomes four times slower, in other rounds for the base, so medians would compare different speeds.
    document = made_up.document(workloads=("vgg",), modes=("train",), op_rows=False)
    document["context"] |= ALTERNATING
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
