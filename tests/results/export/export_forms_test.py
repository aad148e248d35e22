"""What results/export writes for which dashboard."""

import json
import re
import statistics

import made_up_ranks
import made_up_run as made_up
import pytest
from exported import STEP, SUFFIX, by_name, exported, names, once, repeated
from program import export, strict_json

# --- What two dashboards make of Google Benchmark's JSON, told after their sources: both ignore run_type.


def github_action(text):
    """github-action-benchmark v1, tool googlecpp: what is charted, by name."""
    entries = strict_json(text)["benchmarks"]
    assert entries, "no benchmark result was found"
    for entry in entries:
        # As JavaScript, it would write `undefined` where one is missing.
        assert {"name", "real_time", "time_unit", "iterations", "cpu_time", "threads"} <= set(entry)
    charted = by_name(entries)
    assert not [name for name in charted if re.search("_(mean|median|stddev|cv)$", name)]
    assert all(entry["real_time"] > 0 for entry in entries), "the alert's ratio divides by it"
    return {name: (one["real_time"], one["time_unit"] + "/iter") for name, one in charted.items()}


def bencher(text):
    """Bencher, adapter cpp_google: nanoseconds by name."""
    document = strict_json(text)
    assert isinstance(document["context"]["caches"], list)
    units = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
    for entry in document["benchmarks"]:  # one that does not fit refuses the whole file
        assert 1 <= len(entry["name"].encode()) <= 1024
        assert isinstance(entry["real_time"], (int, float)) and entry["time_unit"] in units
    charted = by_name(document["benchmarks"])
    return {name: one["real_time"] * units[one["time_unit"]] for name, one in charted.items()}


@pytest.mark.parametrize("reader", [github_action, bencher])
@pytest.mark.parametrize("document", [once, repeated])
def test_medians_fit(tmp_path, reader, document):
    exported(tmp_path, "medians", document())
    assert list(reader((tmp_path / "out.json").read_text())) == names(once())


@pytest.mark.parametrize("reader", [github_action, bencher])
def test_repetitions_alone_do_not_fit(reader):
    with pytest.raises(AssertionError):
        reader(json.dumps(repeated()))


def test_both_chart_the_median_time(tmp_path):
    exported(tmp_path, "medians", repeated())
    text = (tmp_path / "out.json").read_text()
    us = made_up.step_us("alexnet")
    assert github_action(text)[STEP] == (pytest.approx(us), "us/iter")
    assert bencher(text)[STEP] == pytest.approx(1000 * us)


# --- medians


def test_a_median_looks_like_a_run_without_repetitions(tmp_path):
    document = exported(tmp_path, "medians", repeated())
    assert document["context"] == once()["context"]
    for entry, single in zip(document["benchmarks"], once()["benchmarks"], strict=True):
        numbers = {key: value for key, value in single.items() if isinstance(value, float)}
        assert entry == single | {key: pytest.approx(value) for key, value in numbers.items()} | {
            "iterations": len(made_up.REPETITIONS) * single["iterations"]
        }


def test_a_run_without_repetitions_stays_as_it_is(tmp_path):
    assert exported(tmp_path, "medians", once()) == once()


def test_a_file_of_aggregates_has_medians_too(tmp_path):
    document = repeated()
    rows = [row for row in document["benchmarks"] if row["run_type"] == "aggregate"]
    (step,) = [
        entry
        for entry in exported(tmp_path, "medians", document | {"benchmarks": rows})["benchmarks"]
        if entry["name"] == STEP
    ]
    assert step["real_time"] == pytest.approx(made_up.step_us("alexnet"))
    assert "aggregate_name" not in step and step["run_type"] == "iteration"


def test_a_label_that_differs_is_left_out(tmp_path):
    document = repeated()
    rows = [row for row in document["benchmarks"] if row["run_name"] == STEP]
    for row in rows:
        row["label"] = f"choice {row.get('repetition_index')}"
    del rows[0]["label"]
    (entry,) = exported(tmp_path, "medians", document | {"benchmarks": rows})["benchmarks"]
    assert "label" not in entry


# --- counters


def test_a_counter_is_a_list_for_github_action_benchmark(tmp_path):
    entries = by_name(exported(tmp_path, "counters", repeated(), "--counter", "flops"))
    single = {row["name"]: row["flops"] for row in once()["benchmarks"] if "flops" in row}
    assert list(entries) == list(single)
    entry = entries[STEP]
    assert set(entry) == {"name", "unit", "value", "range", "extra"}
    assert entry["value"] == pytest.approx(single[STEP]) and entry["unit"] == "FLOP/s"
    rates = [single[STEP] / factor for factor in made_up.REPETITIONS]
    spread = re.fullmatch(r"(\+-|±)\s*(\d.+)", entry["range"])  # as the action reads it
    assert float(spread[2]) == pytest.approx(statistics.stdev(rates))


def test_one_repetition_has_no_range(tmp_path):
    assert "range" not in exported(tmp_path, "counters", once())[0]


@pytest.mark.parametrize(
    ["counter", "unit", "tool"],
    [
        ("flops", "FLOP/s", "customBiggerIsBetter"),
        ("bytes", "byte/s", "customBiggerIsBetter"),
        ("items_per_second", "samples/s", "customBiggerIsBetter"),
        ("flops_pct_peak", "%", "customBiggerIsBetter"),
        ("peak_memory_bytes", "byte", "customSmallerIsBetter"),
        ("first_step_us", "us", "customSmallerIsBetter"),
        ("flops_per_step", "FLOP", "customSmallerIsBetter"),
        ("pct_of_step", "%", "customSmallerIsBetter"),
        ("params", "", "customSmallerIsBetter"),
        ("algbw", "byte/s", "customBiggerIsBetter"),
        ("busbw", "byte/s", "customBiggerIsBetter"),
        ("scaling_pct", "%", "customBiggerIsBetter"),
        ("exposed_us", "us", "customSmallerIsBetter"),
    ],
)
def test_counters_know_their_unit_and_the_action_s_tool(tmp_path, counter, unit, tool):
    document = once(extra=made_up_ranks.rows(("memnet",)))
    run = made_up.write(tmp_path / "run.json", document)
    result = export("counters", run, "-o", tmp_path / "out.json", "--counter", counter)
    assert result.stdout.endswith(f" for tool: {tool}\n")
    assert {entry["unit"] for entry in strict_json((tmp_path / "out.json").read_text())} == {unit}


# --- Bencher's own format


def test_bencher_has_time_and_counters_between_bounds(tmp_path):
    counters = ["--counter", "flops", "--counter", "peak_memory_bytes"]
    measures = exported(tmp_path, "bencher", repeated(), *counters)
    assert list(measures) == names(once())
    us = made_up.step_us("alexnet")
    assert measures[STEP]["latency"] == {
        "value": pytest.approx(1000 * us),
        "lower_value": pytest.approx(1000 * us * min(made_up.REPETITIONS)),
        "upper_value": pytest.approx(1000 * us * max(made_up.REPETITIONS)),
    }
    assert set(measures[STEP]) == {"latency", "flops", "peak_memory_bytes"}
    assert set(measures[f"{STEP.removesuffix(SUFFIX)}/op:relu{SUFFIX}"]) == {"latency"}


def test_bencher_without_repetitions_has_no_bounds(tmp_path):
    assert set(exported(tmp_path, "bencher", once())[STEP]["latency"]) == {"value"}


# --- LNT; that it reads them, and what it makes of them, is in lnt_test.py


def test_lnt_has_each_repetition_in_microseconds(tmp_path):
    tests = by_name(exported(tmp_path, "lnt", repeated(memory=True))["tests"])
    step = tests[STEP.removesuffix(SUFFIX).replace("/", ".")]
    us = made_up.document(workloads=("alexnet",))["benchmarks"][0]["real_time"]
    assert step["execution_time"] == pytest.approx([us * one for one in made_up.REPETITIONS])
    assert step["mem_bytes"] == [made_up.memory_fields()["memory_peak_bytes"]] * 5


def test_lnt_names_find_their_rows(tmp_path):
    found = [test["name"] for test in exported(tmp_path, "lnt", once())["tests"]]
    for name, dotted in zip(names(once()), found, strict=True):
        assert re.search(dotted, name) and "/" not in dotted


def test_lnt_sorts_by_time_first(tmp_path):
    dates = ["2026-01-31T23:30:00+00:00", "2026-02-01T01:45:00+02:00", "2026-02-01T00:00:00+00:00"]
    runs = [
        exported(tmp_path, "lnt", once(date=date, git_commit=f"{9 - index}" * 40 + "-dirty"))["run"]
        for index, date in enumerate(dates)
    ]
    orders = [run["llvm_project_revision"] for run in runs]
    assert orders == sorted(orders) and orders[1] == "20260131234500-888888888888-dirty"
    assert runs[1]["start_time"] == runs[1]["end_time"] == "2026-01-31T23:45:00"


def test_lnt_s_machine_is_its_hardware(tmp_path):
    one = exported(tmp_path, "lnt", once(gpu=True))
    two = exported(tmp_path, "lnt", once(gpu=True, libtorch="3.0", host_name="other"))
    assert one["machine"] == two["machine"] and one["run"] != two["run"]
    assert one["machine"]["name"] == "Made-up-CPU-8-CPUs-Made-up-GPU"
    assert two["run"]["libtorch"] == "3.0"


def test_lnt_gets_the_settings_of_the_gpu(tmp_path):
    settings = {key: f"value of {key}" for key in made_up.GPU_SETTINGS}
    made = exported(tmp_path, "lnt", once(gpu=True, **settings))
    assert settings.items() <= made["run"].items()
    assert not settings.keys() & made["machine"].keys()


def test_lnt_takes_a_machine_and_an_order(tmp_path):
    made = exported(tmp_path, "lnt", once(), "--machine", "runner", "--order", "1234")
    assert made["machine"]["name"] == "runner" and made["run"]["llvm_project_revision"] == "1234"
