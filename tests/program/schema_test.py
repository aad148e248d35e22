"""docs/schema.json, and which files it takes.

To write it anew from the tables of docs/results.md: FATHOM_WRITE_NAMES=1 tests/run tests/program/schema_test.py
"""

import json
import os

import made_up_run as made_up
import pytest
from results_schema import FILE, faults, text, validator, version

from fathom_runs import source
from program import QUICK, RECORDED_RUNS, read_json, run, strict_json

# Rows with fields that no other test of the program writes.
RUNS = {
    "a step": ["--benchmark_filter=^memnet/train/", "--fathom_memory", "--fathom_profile"],
    "fixtures": ["--benchmark_filter=^fixture/"],
}


def test_the_schema_has_the_fields_of_the_page():
    if "FATHOM_WRITE_NAMES" in os.environ:
        FILE.write_text(text())
    assert FILE.read_text() == text()
    validator().check_schema(json.loads(text()))


@pytest.mark.parametrize("arguments", RUNS.values(), ids=RUNS)
def test_a_run_is_valid_and_has_the_version(tmp_path, arguments):
    out = tmp_path / "out.json"
    assert run(*QUICK, *arguments, f"--benchmark_out={out}").returncode == 0
    assert read_json(out)["context"]["fathom_schema"] == version()


@pytest.mark.parametrize("path", RECORDED_RUNS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_recorded_run_is_valid(path):
    assert faults(strict_json(source.text_of(path))) == []


def test_the_made_up_runs_of_tests_are_valid():
    assert faults(made_up.everything()) == []


# What is changed in a valid file, and what the first fault names.
PLANTED = {
    "an unknown field of a row": (lambda row, context: row.update(flopz=1.0), "flopz"),
    "a missing field of a row": (lambda row, context: row.pop("cpu_time"), "cpu_time"),
    "text for a number": (lambda row, context: row.update(flops="12"), "benchmarks[1].flops"),
    "an unknown field of the context": (lambda row, context: context.update(cpus="8"), "cpus"),
    "a missing field of the context": (lambda row, context: context.pop("data"), "data"),
    "a major version": (lambda row, context: context.update(fathom_schema="9.0"), "9.0"),
}


@pytest.mark.parametrize("plant, word", PLANTED.values(), ids=PLANTED)
def test_a_planted_fault_is_refused(plant, word):
    document = made_up.document()
    plant(document["benchmarks"][1], document["context"])
    assert word in faults(document)[0]


def test_entries_of_users_are_allowed():
    command = "fathom_bench --benchmark_context=branch=main --benchmark_out=run.json"
    assert faults(made_up.document(branch="main", command_line=command)) == []


# --- its version, in results/


def test_the_programs_of_results_read_the_version_of_the_program():
    assert source.SCHEMA == int(version().partition(".")[0])


@pytest.mark.parametrize("found", [None, "0.9", "1.0", "1.99"])
def test_earlier_versions_and_new_fields_are_read(found):
    more = {"fathom_schema": found} if found else {}
    made = json.dumps(made_up.document(**more))
    assert source.document("run.json", made)[0].get("fathom_schema") == found


@pytest.mark.parametrize("found", ["2.0", "10.1", "new", ""])
def test_a_later_major_version_is_refused(found):
    made = json.dumps(made_up.document(fathom_schema=found))
    with pytest.raises(source.RunError) as error:
        source.document("run.json", made)
    assert str(error.value) == (
        f"run.json: fathom_schema is {found!r}, expected at most 1.x; use the programs of results/ of a newer fathom_bench"
    )
