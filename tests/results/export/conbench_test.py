"""Conbench's adapter reads files of fathom_bench."""

# Runs in the Python of dashboards.

import json
import os
import re
import unittest.mock

import made_up_run as made_up
import pytest
from benchadapt.adapters import GoogleBenchmarkAdapter
from exported import SUFFIX, once, repeated
from program import PROGRAM, QUICK, ROOT, read_json, strict_json

from fathom_runs.source import text_of

# The adapter cannot read gzip files, so the test unpacks them.
(RECORDED,) = (ROOT / "results/runs/amd-epyc-zen4-2-cores").glob("short-study.json*")
RECORDED_ROWS = re.compile("(autoenc|op/matmul/autoenc)/.*threads:1/")
# Settings that the adapter requires.
COMMIT = {"CONBENCH_PROJECT_REPOSITORY": "org/repo", "CONBENCH_PROJECT_COMMIT": "0" * 40}


def conbench(path, command=("true",)):
    """Results of the adapter by row. The command writes the file."""
    with unittest.mock.patch.dict(os.environ, COMMIT):
        results = GoogleBenchmarkAdapter(command=list(map(str, command)), result_file=path).run()
    named = {f"{result.tags['name']}/{result.tags['params']}": result for result in results}
    assert len(named) == len(results)
    return named


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Some rows of each kind of a recorded run, because the adapter reads the machine for each row."""
    path = tmp_path_factory.mktemp("conbench") / "run.json"
    document = strict_json(text_of(RECORDED))
    rows = [row for row in document["benchmarks"] if RECORDED_ROWS.match(row["name"])]
    return rows, conbench(made_up.write(path, document | {"benchmarks": rows}))


def charted(row):
    """Unit and value that Conbench charts: throughput if the row has one, else the time."""
    if "items_per_second" in row:
        return "i/s", row["items_per_second"]
    return "us", row["real_time"]


def test_conbench_has_a_result_for_each_row_of_a_recorded_run(recorded):
    rows, results = recorded
    assert set(results) == {row["name"] for row in rows}
    for row in rows:
        stats, (unit, value) = results[row["name"]].stats, charted(row)
        assert (stats["unit"], stats["data"]) == (unit, [value])
        assert (stats["time_unit"], stats["times"]) == ("us", [row["real_time"]])


def test_conbench_charts_steps_by_throughput_and_other_rows_by_time(recorded):
    units = {"step": set(), "inside": set(), "op": set()}
    for name, result in recorded[1].items():
        kind = "op" if name.startswith("op/") else "inside" if "/op:" in name else "step"
        units[kind].add(result.stats["unit"])
    assert units == {"step": {"i/s"}, "inside": {"us"}, "op": {"us"}}


def test_conbench_without_throughput_charts_time(tmp_path):
    document = repeated()
    for row in document["benchmarks"]:
        row.pop("items_per_second", None)
    results = conbench(made_up.write(tmp_path / "time.json", document))
    assert {result.stats["unit"] for result in results.values()} == {"us"}


def test_conbench_joins_repetitions_and_drops_aggregates(tmp_path):
    path = made_up.write(tmp_path / "run.json", repeated())
    results = conbench(path)
    single = once()["benchmarks"]
    assert set(results) == {row["name"] for row in single}
    us = made_up.type_us("memnet", "mul")
    found = results[f"{made_up.step_name('memnet')}/op:mul{SUFFIX}"].stats
    assert found["data"] == pytest.approx([us * factor for factor in made_up.REPETITIONS])
    assert found["iterations"] == len(made_up.REPETITIONS)


def test_conbench_keeps_the_context(tmp_path):
    path = made_up.write(tmp_path / "run.json", repeated())
    (context,) = {
        json.dumps(result.optional_benchmark_info["gbench_context"])
        for result in conbench(path).values()
    }
    assert json.loads(context) == read_json(path)["context"]


def test_conbench_runs_the_program(tmp_path):
    out = tmp_path / "run.json"
    options = ["--benchmark_filter=^memnet/infer", "--fathom_profile", "--benchmark_repetitions=3"]
    results = conbench(out, [PROGRAM, *QUICK, *options, f"--benchmark_out={out}"])
    rows = [row for row in read_json(out)["benchmarks"] if row["run_type"] == "iteration"]
    assert set(results) == {row["name"] for row in rows} and len(rows) == 3 * len(results)
    for name, result in results.items():
        values = [charted(row) for row in rows if row["name"] == name]
        assert [(result.stats["unit"], value) for value in result.stats["data"]] == values
