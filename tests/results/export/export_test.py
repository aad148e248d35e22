"""The command line of results/export: rows, errors and output."""

import json
import os
import re
import shlex

import made_up_ranks
import made_up_run as made_up
import pytest
from exported import FORMS, STEP, content, exported, once, repeated
from program import ROOT, export, refusals, strict_json


refused = refusals("export")


@pytest.mark.parametrize("form", FORMS)
def test_rows_that_were_not_measured_are_left_out(tmp_path, form):
    document = once()
    failed = {"error_occurred": True, "error_message": "no", "real_time": 0.0}
    skipped = {"skipped": True, "skip_message": "no", "real_time": 0.0}
    for name, fields in (("failed", failed), ("skipped", skipped), ("tick", {"real_time": 0.0})):
        step = document["benchmarks"][0]
        document["benchmarks"].append(step | {"name": name, "run_name": name} | fields)
    assert exported(tmp_path, form, document) == exported(tmp_path, form, once())


@pytest.mark.parametrize("form", FORMS)
def test_rows_with_ranks_have_names_of_their_own(tmp_path, form):
    arguments = ["--counter", "items_per_second"] if form == "counters" else FORMS[form]
    alone = exported(tmp_path, form, once(), *arguments)
    document = once(extra=made_up_ranks.rows(("memnet",), (1, 2), ops=False))
    made = json.dumps(exported(tmp_path, form, document, *arguments))
    for ranks in ("ranks:1", "ranks:2"):
        assert len(re.findall(rf'"memnet[/.]train[^"]*threads:1[/.]{ranks}[/.]', made)) >= 1
        assert ranks not in json.dumps(alone)


@pytest.mark.parametrize("form", ["lnt", "openmetrics"])
def test_forms_with_a_start_need_a_date(tmp_path, form):
    run = made_up.write(tmp_path / "run.json", once(date="yesterday"))
    assert "date is 'yesterday'" in refused(form, run, "-o", tmp_path / "out.json")


@pytest.mark.parametrize("form", FORMS)
def test_the_same_input_gives_the_same_bytes(tmp_path, form):
    made = []
    for _ in range(2):
        exported(tmp_path, form, repeated())
        made.append((tmp_path / "out.json").read_bytes())
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ["counter", "expected"],
    [
        ("peak_memory", "peak_memory_bytes"),
        ("flops_pct_of_peak", "flops_pct_peak"),
        ("FLOPS_PCT_PEAK", "flops_pct_peak"),
        ("x", "backward_us, "),
    ],
)
@pytest.mark.parametrize("form", ["counters", "bencher", "openmetrics"])
def test_an_unknown_counter_suggests_similar_ones(tmp_path, form, counter, expected):
    run = made_up.write(tmp_path / "run.json", once())
    line = refused(form, run, "-o", tmp_path / "out.json", "--counter", counter)
    assert f"no row has the counter {counter!r}, expected {expected}" in line


@pytest.mark.parametrize("form", FORMS)
def test_a_pipe_gets_the_content_only(tmp_path, form):
    written = exported(tmp_path, form, once())
    result = export(form, tmp_path / "run.json", "-o", "/dev/stdout", *FORMS[form])
    assert result.returncode == 0 and content(form, result.stdout) == written
    assert result.stderr.startswith("/dev/stdout: ")


@pytest.mark.parametrize("form", FORMS)
def test_broken_input_gives_one_line_and_keeps_the_output(tmp_path, form):
    good = json.dumps(once())
    timeless = once()
    del timeless["benchmarks"][0]["real_time"]
    backwards = once()
    backwards["benchmarks"][0]["real_time"] = -1
    endless = once()
    endless["benchmarks"][0]["real_time"] = 10**400
    cases = {
        "": "is truncated at line 1 (byte 0)",
        good[:3000]: "is truncated at line 1 (byte ",
        "[]": "a list at the top",
        "{}": "no `context`",
        '{"context": {}, "benchmarks": [3]}': "`benchmarks` holds '3'",
        '{"context": {}, "benchmarks": []}': "no measured row",
        json.dumps(timeless): f"real_time of {STEP} is 'missing'",
        json.dumps(backwards): f"real_time of {STEP} is '-1', expected a number of at least 0",
        json.dumps(endless): f"real_time of {STEP} is '1000",
        good.replace('"time_unit": "us"', '"time_unit": "h"', 1): f"time_unit of {STEP} is 'h'",
    }
    if form == "medians":  # the others do not use the counter
        for value, words in (("NaN", "NaN"), ('"x"', "x")):
            text = good.replace('"params": 1000000.0', f'"params": {value}', 1)
            cases[text] = f"params of {STEP} is '{words}'"
    run, out = tmp_path / "run.json", tmp_path / "out.json"
    out.write_text("an earlier file")
    for text, found in cases.items():
        run.write_text(text)
        line = refused(form, run, "-o", out, *FORMS[form])
        assert found in line, (found, line)
    assert out.read_text() == "an earlier file"
    assert sorted(os.listdir(tmp_path)) == ["out.json", "run.json"]


def test_an_output_that_cannot_be_written_gives_one_line(tmp_path):
    run = made_up.write(tmp_path / "run.json", once())
    assert "No such file" in refused("medians", run, "-o", tmp_path / "no/out.json")
    assert "is a folder" in refused("medians", run, "-o", tmp_path)
    assert "is an input and the output" in refused("medians", run, "-o", run)
    assert strict_json(run.read_text()) == once()


@pytest.mark.parametrize(
    "arguments", [[], ["medians"], ["medians", "run.json"], ["counters", "run.json", "-o", "out"]]
)
def test_wrong_usage(arguments):
    result = export(*arguments)
    assert result.returncode == 2
    assert result.stderr.startswith("export: ") and result.stderr.count("\n") == 1


@pytest.mark.parametrize("document", ["docs/dashboards.md"])
def test_commands_in_the_documents_work(tmp_path, document):
    made_up.write(tmp_path / "run.json", repeated())
    lines = map(str.strip, (ROOT / document).read_text().splitlines())
    commands = [
        shlex.split(line, comments=True) for line in lines if line.startswith("results/export")
    ]
    assert {command[1] for command in commands} == set(FORMS)
    for _, *arguments in commands:
        result = export(*arguments, cwd=tmp_path)
        assert result.returncode == 0, result.stderr


def test_help_names_every_form():
    result = export("--help")
    assert result.returncode == 0 and all(form in result.stdout for form in FORMS)
