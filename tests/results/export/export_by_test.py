"""results/export --by: which time is exported, and what is said of disturbed rows."""

import re
import statistics

import made_up_run as made_up
import pytest
from exported import STEP, SUFFIX, by_name, content, exported, once
from program import export


def with_samples(**more):
    """A run whose samples are faster than their mean; the op types inside have no samples."""
    document = once()
    for row in document["benchmarks"]:
        if "/op:" not in row["name"]:
            row |= {"min_us": row["real_time"] / 2, "p50_us": row["real_time"] / 1.25} | more
    return document


TIMES = {
    "medians": lambda made: by_name(made["benchmarks"])[STEP]["real_time"],
    "bencher": lambda made: made[STEP]["latency"]["value"] / 1000,
    "lnt": lambda made: statistics.median(
        by_name(made["tests"])[STEP.removesuffix(SUFFIX).replace("/", ".")]["execution_time"]
    ),
    "openmetrics": lambda made: 1e6
    * float(re.search(rf'real_time_seconds{{.*row="{STEP.removesuffix(SUFFIX)}".* (.*)', made)[1]),
}


@pytest.mark.parametrize("form", TIMES)
@pytest.mark.parametrize("field, share", [("real_time", 1), ("p50_us", 0.8), ("min_us", 0.5)])
def test_the_time_is_that_of_the_option(tmp_path, form, field, share):
    made = exported(tmp_path, form, with_samples(), f"--by={field}")
    assert TIMES[form](made) == pytest.approx(share * made_up.step_us("alexnet"))


def test_a_row_without_samples_keeps_its_mean(tmp_path):
    made = exported(tmp_path, "medians", with_samples(), "--by=min_us")
    inside = f"{STEP.removesuffix(SUFFIX)}/op:relu{SUFFIX}"
    single = by_name(once()["benchmarks"])[inside]["real_time"]
    assert by_name(made["benchmarks"])[inside]["real_time"] == pytest.approx(single)


@pytest.mark.parametrize("form", TIMES)
def test_disturbed_rows_are_a_line(tmp_path, form):
    document = with_samples()
    row = by_name(document["benchmarks"])[STEP]
    row |= {"stolen_us": 0, "waiting_us": 0.74 * row["real_time"], "disturbed_steps": 0}
    run = made_up.write(tmp_path / "run.json", document)
    result = export(form, run, "-o", tmp_path / "out.json")
    assert result.returncode == 0 and content(form, (tmp_path / "out.json").read_text())
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"export: {run}: 1 of 1 step was disturbed: ")
    assert line.endswith("--by=min_us exports the fastest sample.")
    by_fastest = export(form, run, "-o", tmp_path / "out.json", "--by=min_us")
    assert "--by" not in by_fastest.stderr
