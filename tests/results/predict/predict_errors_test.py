"""The errors of predictions between recorded machines."""

import re

import pytest
from made_up_machines import CACHES, TINY, op, run_file, step
from program import ROOT, predict, strict_json

from fathom_predict import errors
from fathom_runs.words import percent

PAGE = ROOT / "docs/predict.md"
FINDINGS = ROOT / "results/findings.md"


def recorded(folder, machine, us, name="run.json", gflops=100, rows=TINY):
    """A run of vgg, which takes `us`, all of it at the peak."""
    (folder / machine).mkdir(parents=True, exist_ok=True)
    peak = {"peak_flops_cpu_threads1_fp32": f"{gflops} GFLOP/s, loop", "caches": CACHES}
    steps = step(us, {"conv2d": us})
    compute = op("conv2d", 1000, gflop=gflops / 1000)
    return run_file(folder / machine / name, [*steps, compute, *rows], **peak)


def sizes(cases):
    return [(case.here, case.there, round(case.error, 9)) for case in cases]


def test_each_machine_is_predicted_from_each_other(tmp_path):
    recorded(tmp_path, "slow", 3000)
    recorded(tmp_path, "fast", 1000, gflops=200)
    # 3000 / 2 is 50 % too long, 1000 * 2 a third too short.
    found = errors.measure(tmp_path)
    assert sizes(found.cases) == [
        ("fast/run.json", "slow/run.json", round(-1 / 3, 9)),
        ("slow/run.json", "fast/run.json", 0.5),
    ]
    assert sizes(found.own_run) == sizes(found.cases), "peaks explain all of these steps"


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
    assert len(found.cases) == 4
    assert errors.worst(errors.big(found.cases)).error == pytest.approx(1 / 3)
    assert errors.worst(found.cases).error == pytest.approx(1)
    assert errors.median_size(found.cases) == pytest.approx((1 / 3 + 0.5) / 2)


def test_nine_of_ten_errors_are_not_larger():
    cases = [errors.Case("", "", "", 1, 1, size / 10) for size in (-9, 1, 2, 3, 4, 5, 6, 7, 8, 10)]
    assert errors.nine_of_ten(cases) == 0.9


def overhead(us):
    """A step without FLOPs, and rows on almost no data: a call takes `us`."""
    return [*step(1000 * us, {"relu": 1}, workload="alexnet"), op("relu", us, size=400)]


def test_peaks_alone_do_not_know_the_overhead_of_a_call(tmp_path):
    """Calls take twice as long there, which only the run that is predicted says."""
    recorded(tmp_path, "here", 3000, rows=overhead(1))
    recorded(tmp_path, "there", 3000, rows=overhead(2))
    found = errors.measure(tmp_path)
    of_alexnet = [
        {case.here: case.error for case in cases if case.name.startswith("alexnet")}
        for cases in (found.cases, found.own_run)
    ]
    assert of_alexnet[0] == pytest.approx({"here/run.json": -0.5, "there/run.json": 1})
    assert of_alexnet[1] == pytest.approx({"here/run.json": 0, "there/run.json": 0}, abs=1e-9)


def test_peaks_are_those_of_another_run_of_the_machine(tmp_path):
    recorded(tmp_path, "here", 3000)
    recorded(tmp_path, "there", 3000, "run.json", gflops=100)
    recorded(tmp_path, "there", 3000, "again.json", gflops=200)
    found = errors.measure(tmp_path)
    there = [one for one in found.cases if one.here == "here/run.json"]
    assert sizes(there) == [
        ("here/run.json", "there/again.json", 0.0),
        ("here/run.json", "there/run.json", -0.5),
    ]
    assert found.peaks_of == {
        "here/run.json": "here/run.json",
        "there/again.json": "there/run.json",
        "there/run.json": "there/again.json",
    }


@pytest.mark.parametrize("setting", ["threads2_fp32", "threads1_int8"])
def test_a_run_gives_no_peaks_to_one_with_more_of_them(tmp_path, setting):
    recorded(tmp_path, "here", 3000)
    recorded(tmp_path, "there", 3000, "run.json")
    path = recorded(tmp_path, "there", 3000, "two.json")
    text = path.read_text()
    peak = '"peak_flops_cpu_threads1_fp32":'
    path.write_text(text.replace(peak, f'"peak_flops_cpu_{setting}": "200 GFLOP/s, loop", {peak}'))
    found = errors.measure(tmp_path).peaks_of
    assert (found["there/two.json"], found["there/run.json"]) == (
        "there/two.json",
        "there/two.json",
    )


def test_the_error_beside_a_prediction_is_that_of_steps_as_long_with_as_many_threads():
    def case(us, threads, error):
        return errors.Case("", "", "", threads, us, error)

    found = errors.Errors(
        [case(2e5, 1, 0.1), case(2e5, 1, -0.2), case(2e5, 2, 0.3), case(100, 1, 0.4)], [], [], {}
    )
    assert found.within(3e5, 1) == 0.2 and found.within(3e5, 2) == 0.3
    assert found.within(50, 1) == 0.4 and found.within(50, 8) == 0.4
    assert errors.Errors([], [], [], {}).within(50, 1) is None


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
            for case in found.own_run
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
    assert ["A", "fast/run.json", "A"] in lines and ["B", "slow/run.json", "B"] in lines
    slow = ["B", "A", "1", "50 %", "1", "50 %", "50 %", "50 %", "+50 % vgg/train/threads:1/batch:8"]
    assert lines.count(slow) == 2, "with peaks alone, and with the run that is predicted"
    (first, second) = (line for line in lines if "42 %" in line)
    assert first == ["peaks alone", "2", "42 %", "2", "42 %", "50 %", "50 %"]
    assert second[0] == "the run that is predicted"


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


def test_the_worst_step_of_the_newest_pair_is_on_the_page():
    """deepq/infer, with machine files from the run that is predicted."""
    runs = "intel-xeon-16-cores/fathom-study.json", "amd-epyc-zen5-2-cores/fathom-study.json"
    one = errors.worst(errors.by_pair(errors.measure().own_run)[runs])
    words = f"{100 * one.error:+.0f} % {one.name.split('/device')[0]}"
    assert words in PAGE.read_text() and one.name.startswith("deepq/infer/")


def test_the_findings_have_both_errors():
    found = errors.measure()
    words = [
        f"{percent(100 * errors.median_size(cases))}{count}.*{percent(100 * errors.nine_of_ten(errors.big(cases)))}"
        for cases, count in ((found.cases, rf" \({len(found.cases)} steps\)"), (found.own_run, ""))
    ]
    (line,) = (line for line in FINDINGS.read_text().splitlines() if "predict.md#errors" in line)
    assert re.search("; with a machine file from the run that is predicted ".join(words), line)


def test_half_of_the_recorded_steps_are_predicted_within_20_percent():
    """15 % with machine files from the run that is predicted."""
    found = errors.measure()
    assert errors.median_size(found.cases) <= 0.2
    assert errors.median_size(found.own_run) <= 0.15
