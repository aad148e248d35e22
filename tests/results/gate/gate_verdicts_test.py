"""results/gate: classes of rows and causes of changes."""

import random

import made_up_run as made_up
import pytest
from gated import ALTERNATING, MEMNET, SLOW_CONVOLUTION, SUFFIX, VGG
from gated import base, classes, repeated, row_of, run, verdict


def test_the_same_program_passes(tmp_path, base):
    code, found = verdict(base, run(tmp_path / "new.json", 2))
    assert code == 0 and found["verdict"] == "no regression" and not found["regressed"]
    assert set(classes(found).values()) == {"SAME"}


def test_a_slower_step_fails_the_gate_with_its_change(tmp_path, base):
    code, found = verdict(base, run(tmp_path / "new.json", 2, SLOW_CONVOLUTION))
    assert code == 1 and found["verdict"] == "regression: 1 row slower"
    row = row_of(found, VGG)
    assert row["class"] == "SLOWER" and row["fails"]
    assert 8 < row["change_low_pct"] < 10 < row["change_high_pct"] < 12


def test_the_op_that_explains_a_change_is_named(tmp_path, base):
    _, found = verdict(base, run(tmp_path / "new.json", 2, SLOW_CONVOLUTION))
    (cause,) = row_of(found, VGG)["causes"]
    assert cause["op_type"] == "conv2d" and cause["changed"]
    assert cause["share"] == pytest.approx(1, abs=0.1)
    slower = [name for name, one in classes(found).items() if one == "SLOWER"]
    assert slower == [VGG, f"{VGG}/op:conv2d"], "no other row is slower"


def test_a_faster_step_passes(tmp_path, base):
    code, found = verdict(base, run(tmp_path / "new.json", 2, {VGG: 0.9}))
    assert code == 0 and classes(found)[VGG] == "FASTER"


def test_small_changes_are_ignored(tmp_path, base):
    new = run(tmp_path / "new.json", 2, {VGG: 1.04})
    assert verdict(base, new)[0] == 1
    code, found = verdict(base, new, "--smallest=8", "--same=20")
    assert code == 0 and classes(found)[VGG] == "SAME"


def test_noisy_rows_are_ambiguous(tmp_path):
    document = made_up.document(("vgg",), op_rows=False, profile=False, **ALTERNATING)
    draw = random.Random(1)
    files = []
    for name in ("base", "new"):
        rows = []
        for row in document["benchmarks"]:
            for index in range(9):
                us = row["real_time"] * draw.uniform(1, 2)
                rows.append(row | {"real_time": us, "repetitions": 9, "repetition_index": index})
        files.append(made_up.write(tmp_path / f"{name}.json", document | {"benchmarks": rows}))
    code, found = verdict(*files)
    assert code == 3 and set(classes(found).values()) == {"AMBIGUOUS"}
    assert found["verdict"] == "no verdict: 2 of 2 rows undecided" and not found["regressed"]


def test_ops_of_an_unchanged_step_are_not_tested(tmp_path, base):
    slower = {f"{MEMNET}/op:mul": 2, "op/mul/memnet": 2}
    code, found = verdict(base, run(tmp_path / "new.json", 2, slower))
    assert code == 0 and set(classes(found).values()) == {"SAME"}
    assert f"{MEMNET}/op:mul{SUFFIX}" in found["untested"]


def test_ops_without_a_step_are_tested(tmp_path):
    ops = made_up.document(workloads=("vgg",), modes=(), **ALTERNATING)
    files = [
        made_up.write(
            tmp_path / name, ops | {"benchmarks": list(repeated(ops["benchmarks"], *how))}
        )
        for name, how in {"a.json": (1,), "b.json": (2, {"op/relu/vgg/first": 1.2})}.items()
    ]
    code, found = verdict(*files)
    assert code == 1
    (slow,) = [name for name, one in classes(found).items() if one == "SLOWER"]
    assert slow.startswith("op/relu/vgg/first")


def test_files_of_any_google_benchmark_are_compared(tmp_path):
    rows = [made_up.row(f"BM_Sort/{n}", 5 * n) | {"time_unit": "ns"} for n in (10, 20)]
    document = {"context": ALTERNATING, "benchmarks": []}
    files = [
        made_up.write(tmp_path / name, document | {"benchmarks": list(repeated(rows, *how))})
        for name, how in {"a.json": (1,), "b.json": (2, {"BM_Sort/20": 1.2})}.items()
    ]
    code, found = verdict(*files)
    assert code == 1 and classes(found) == {"BM_Sort/10": "SAME", "BM_Sort/20": "SLOWER"}
    assert row_of(found, "BM_Sort/20")["base_us"] == pytest.approx(0.1, rel=0.05)


def test_the_fastest_sample_is_the_default(tmp_path):
    """Noise only adds: means vary by half, the fastest samples by 1 %."""
    draw = random.Random(1)
    files = []
    for name, factor in (("base", 1), ("new", 1.1)):
        rows = []
        for row in repeated([made_up.row(VGG, 100)], 1):
            least = factor * 100 * draw.uniform(1, 1.01)
            rows.append(row | {"real_time": least * draw.uniform(1, 1.5), "min_us": least})
        files.append(tmp_path / f"{name}.json")
        made_up.write(files[-1], {"context": ALTERNATING, "benchmarks": rows})
    code, found = verdict(*files)
    assert code == 1 and row_of(found, VGG)["base_us"] == pytest.approx(100, abs=1)
    code, found = verdict(*files, "--by=real_time")
    assert code == 3 and classes(found)[VGG] == "AMBIGUOUS"


def files_of(tmp_path, rows, **context):
    """Two files of rows with these times: {name: (base, new)}. A repetition without a time, None, is left out."""
    files = []
    for side, name in enumerate(("base.json", "new.json")):
        repetitions = [
            made_up.row(row, us, repetitions=len(times[side]), repetition_index=index)
            for row, times in rows.items()
            for index, us in enumerate(times[side])
            if us is not None
        ]
        document = {"context": context, "benchmarks": repetitions}
        files.append(made_up.write(tmp_path / name, document))
    return files


ONE_BLOCK = ALTERNATING | {"ab_block": "9"}


def compared(tmp_path, rows):
    """The classes of rows with these times: {name: (base, new)}."""
    return classes(verdict(*files_of(tmp_path, rows, **ONE_BLOCK))[1])


SAME = [100, 100.1, 100.2, 100.3]
AGAIN = [100.3, 100.2, 100.1, 100]
SLOWER = [110, 110.1, 110.2, 110.3]  # p is 2 / 70, the smallest of 4 and 4 repetitions


def test_one_slower_row_among_many_may_be_chance(tmp_path):
    slower = {"BM_A": (SAME, SLOWER)}
    assert compared(tmp_path, slower) == {"BM_A": "SLOWER"}
    others = {f"BM_B/{n}": (SAME, SAME) for n in range(20)}
    assert compared(tmp_path, slower | others)["BM_A"] == "AMBIGUOUS"


def test_ops_of_one_changed_step_of_two_need_half_the_p_value(tmp_path):
    op = f"{VGG}/op:conv2d"
    rows = {VGG: ([*SAME, 100.4], [*SLOWER, 110.4]), op: (SAME, SLOWER)}
    assert compared(tmp_path, rows)[op] == "SLOWER"
    found = compared(tmp_path, rows | {MEMNET: (SAME, SAME)})
    assert found[VGG] == "SLOWER" and found[op] == "AMBIGUOUS"


def test_a_row_with_too_few_repetitions_is_ambiguous(tmp_path):
    few, equal = "BM_Few", [100.0, 100.0]
    rows = {"BM_A": (SAME, AGAIN), few: (equal, equal)}
    _, found = verdict(*files_of(tmp_path, rows, **ONE_BLOCK))
    assert row_of(found, "BM_A")["class"] == "SAME" and "min_change_pct" in row_of(found, "BM_A")
    row = row_of(found, few)
    assert row["class"] == "AMBIGUOUS" and row["p"] == 1
    absent = ("change_low_pct", "change_high_pct", "min_change_pct")
    assert not row.keys() & set(absent), "JSON has no infinity"


def test_a_row_without_an_interval_is_never_slower(tmp_path):
    few = (SAME[:3], SLOWER[:3])
    rows = {"BM_A": (SAME, SAME), "BM_Few": few}
    _, found = verdict(*files_of(tmp_path, rows, **ONE_BLOCK), "--alpha=0.3")
    row = row_of(found, "BM_Few")
    assert row["q"] <= 0.3 and row["class"] == "AMBIGUOUS"


def test_a_repetition_with_a_time_of_0_is_left_out(tmp_path):
    rows = {"BM_A": ([*SAME, 0], [0, *SLOWER])}
    _, found = verdict(*files_of(tmp_path, rows, **ONE_BLOCK))
    row = row_of(found, "BM_A")
    assert row["repetitions"] == [4, 4] and row["class"] == "SLOWER"
    assert row["base_us"] == pytest.approx(100.15) and row["change_pct"] == pytest.approx(10, abs=1)


@pytest.mark.parametrize("missing", [None, 0])
def test_a_round_that_a_row_lacks_moves_no_other_round(tmp_path, missing):
    """The machine becomes slower after every third round. The new program has no time for the second round."""
    drift = [100, 101, 102, 200, 201, 202, 400, 401, 402]
    new = [drift[0], missing, *drift[2:]]
    _, found = verdict(*files_of(tmp_path, {"BM_A": (drift, new)}, **ALTERNATING))
    row = row_of(found, "BM_A")
    assert row["change_pct"] == pytest.approx(0) and row["repetitions"] == [9, 8]
    assert -2 < row["change_low_pct"] < 0 < row["change_high_pct"] < 2


def test_rows_without_a_common_block_of_rounds_show_no_change(tmp_path):
    apart = ([*SAME[:3], None, None, None], [None, None, None, *SLOWER[:3]])
    rows = {"BM_A": (SAME, SAME), "BM_Apart": apart}
    _, found = verdict(*files_of(tmp_path, rows, **ALTERNATING))
    row = row_of(found, "BM_Apart")
    assert (row["class"], row["p"], row["change_pct"]) == ("AMBIGUOUS", 1, 0)


@pytest.mark.parametrize("place", ["base.json", "new.json", "noise.json"])
def test_a_row_is_compared_by_its_mean_if_a_file_lacks_its_fastest_sample(tmp_path, place):
    files = []
    for seed, name in enumerate(("base.json", "new.json", "noise.json")):
        rows = list(repeated([made_up.row(VGG, 100), made_up.row(MEMNET, 50)], seed))
        for row in rows:
            row["min_us"] = row["real_time"] / 2
        if name == place:
            del rows[0]["min_us"]
        files.append(made_up.write(tmp_path / name, {"context": {}, "benchmarks": rows}))
    _, found = verdict(*files[:2], f"--noise={files[2]}")
    assert row_of(found, VGG)["class"] == "SAME", "one field in all files"
    times = [row_of(found, name)["base_us"] for name in (VGG, MEMNET)]
    assert times == pytest.approx([100, 25], rel=0.03), "the other row keeps its fastest samples"
