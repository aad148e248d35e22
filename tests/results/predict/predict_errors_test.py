"""The errors of predictions between recorded machines."""

import os
import re

import pytest
from made_up_machines import CACHES, TINY, op, run_file, step
from program import ROOT, predict, strict_json

from fathom_predict import errors

PAGE = ROOT / "docs/predict.md"


def recorded(folder, machine, us, name="run.json", gflops=100, rows=TINY):
    """A run of vgg, which takes `us`, all of it at the peak."""
    (folder / machine).mkdir(parents=True, exist_ok=True)
    peak = {"peak_flops_cpu_threads1_fp32": f"{gflops} GFLOP/s, loop", "caches": CACHES}
    steps = step(us, {"conv2d": us})
    compute = op("conv2d", 1000, gflop=gflops / 1000)
    return run_file(folder / machine / name, [*steps, compute, *rows], **peak)


def sizes(found):
    return [(case.here, case.there, round(case.error, 9)) for case in found.cases]


def test_each_machine_is_predicted_from_each_other(tmp_path):
    recorded(tmp_path, "slow", 3000)
    recorded(tmp_path, "fast", 1000, gflops=200)
    # 3000 / 2 is 50 % too long, 1000 * 2 a third too short.
    assert sizes(errors.measure(tmp_path)) == [
        ("fast/run.json", "slow/run.json", round(-1 / 3, 9)),
        ("slow/run.json", "fast/run.json", 0.5),
    ]


def test_packed_files_count_under_their_own_name(tmp_path):
    recorded(tmp_path, "slow", 3000, "run.json.gz")
    recorded(tmp_path, "fast", 3000)
    (case, _) = errors.measure(tmp_path).cases
    assert (case.here, case.there) == ("fast/run.json", "slow/run.json")


def test_a_folder_is_a_machine(tmp_path):
    recorded(tmp_path, "slow", 3000)
    recorded(tmp_path, "slow", 3000, "again.json")
    assert not errors.measure(tmp_path).cases


def test_steps_of_only_one_file_do_not_count(tmp_path):
    recorded(tmp_path, "slow", 3000)
    extra = step(500, {"relu": 500}, workload="alexnet")
    recorded(tmp_path, "fast", 3000, rows=[*TINY, *extra])
    assert {case.name.split("/")[0] for case in errors.measure(tmp_path).cases} == {"vgg"}


def test_the_worst_is_that_of_steps_above_100_ms(tmp_path):
    for machine, times in {"a": (1000, 300_000), "b": (2000, 400_000)}.items():
        rows = step(times[1], {"conv2d": 1}, batch=64)
        recorded(tmp_path, machine, times[0], rows=[*TINY, *rows])
    found = errors.measure(tmp_path)
    assert len(found.cases) == 4 and errors.worst(found.cases).error == pytest.approx(1 / 3)
    assert errors.median_size(found.cases) == pytest.approx((1 / 3 + 0.5) / 2)


def test_nine_of_ten_errors_are_not_larger():
    cases = [errors.Case("", "", "", 1, 1, size / 10) for size in (-9, 1, 2, 3, 4, 5, 6, 7, 8, 10)]
    assert errors.nine_of_ten(cases) == 0.9


def test_files_that_cannot_be_used_are_listed(tmp_path):
    recorded(tmp_path, "slow", 3000)
    recorded(tmp_path, "slow", 3000, "bare.json", rows=[])
    run_file(tmp_path / "slow/ops.json", TINY)
    (tmp_path / "slow/broken.json").write_text("{")
    (tmp_path / "slow/run.json.explain.json").write_text("[]")  # written beside a run
    found = errors.measure(tmp_path).left_out
    assert [line.split(":")[0] for line in found] == [
        "slow/bare.json",
        "slow/broken.json",
        "slow/ops.json",
    ]
    assert "no hot elementwise op rows" in found[0] and "no step on the CPU" in found[2]


def test_optional_fields_can_be_left_out(tmp_path):
    """Products are at their rate here, 50 GFLOP/s, and at 100 of 400 GFLOP/s there."""
    for machine, us, gflops in (("here", 1000, 100), ("there", 500, 400)):
        matmul = op("matmul", us, gflop=0.05)
        rows = [*TINY, *step(us, {"matmul": us}, workload="alexnet"), matmul]
        recorded(tmp_path, machine, us, gflops=gflops, rows=rows)

    def of_alexnet(found):
        (case,) = (
            case
            for case in found.cases
            if case.name.startswith("alexnet") and case.here == "here/run.json"
        )
        return case.error

    assert of_alexnet(errors.measure(tmp_path)) == pytest.approx(0)
    # Half of the op is at the peak, which is four times as high there, and half is overhead.
    without = errors.measure(tmp_path, ["matmul_gflop_per_s"])
    assert of_alexnet(without) == pytest.approx((500 / 4 + 500) / 500 - 1)


# --- output


def test_the_errors_of_pairs_are_printed(tmp_path):
    recorded(tmp_path, "slow", 300_000)
    recorded(tmp_path, "fast", 100_001, gflops=200)
    result = predict("--errors", f"--runs={tmp_path}")
    assert result.returncode == 0, result.stderr
    lines = [re.split("  +", line) for line in result.stdout.splitlines()]
    slow = ["slow/run.json", "fast/run.json", "1", "50 %", "1", "50 %", "50 %", "50 %"]
    assert [*slow, "vgg/train/threads:1/batch:8/precision:fp32"] in lines
    assert ["all steps", "2", "42 %", "2", "42 %", "50 %", "50 %"] in lines


def test_without_a_second_machine_the_errors_are_open(tmp_path):
    recorded(tmp_path, "slow", 3000)
    assert predict("--errors", f"--runs={tmp_path}").stdout.startswith(
        "errors of such predictions: open"
    )


def test_errors_as_json(tmp_path):
    recorded(tmp_path, "slow", 300_000)
    recorded(tmp_path, "fast", 100_001, gflops=200)
    out = tmp_path / "errors.json"
    assert predict("--errors", f"--runs={tmp_path}", "-o", out).returncode == 0
    found = strict_json(out.read_text())
    assert found["errors"]["pairs"] == 2 and found["errors"]["big_steps"] == 2
    assert found["errors"]["worst_error_of_big_pct"] == pytest.approx(50, rel=1e-4)
    assert [pair["steps"] for pair in found["pairs"]] == [1, 1]


# --- the recorded runs


def test_the_page_has_the_errors_of_the_recorded_runs(tmp_path):
    """To write them anew: FATHOM_WRITE_NAMES=1 tests/run tests/results/predict"""
    out = tmp_path / "errors.md"
    assert predict("--errors", "-o", out).returncode == 0
    for table in re.findall(r"(?:^\|.*\n)+", out.read_text(), re.MULTILINE):
        if "FATHOM_WRITE_NAMES" in os.environ:
            head = re.escape(table.splitlines(keepends=True)[0])
            PAGE.write_text(re.sub(rf"{head}(\|.*\n)*", lambda _: table, PAGE.read_text()))
        assert table in PAGE.read_text()


def test_half_of_the_recorded_steps_are_predicted_within_15_percent():
    assert errors.median_size(errors.measure().cases) <= 0.15
