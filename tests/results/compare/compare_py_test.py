"""The ratios of results/compare are those of Google Benchmark's compare.py on the same files."""

import json

import made_up_pair as made_up
import made_up_run
import pytest
from compare_py import compare_py, needs_compare_py
from made_up_pair import OTHER, document, row, rows, shown, write
from program import ROOT

from fathom_runs.source import text_of

pytestmark = needs_compare_py
RECORDED = ("amd-epyc-zen5-2-cores", "intel-xeon-2-cores")


def uneven(name):
    """A speed between 0.5 and 2 that differs between rows."""
    return 0.5 + sum(map(ord, name)) % 1000 / 667


def test_single_runs_have_equal_changes(tmp_path):
    """Steps and op rows, of recorded files."""
    files = [tmp_path / f"{machine}.json" for machine in RECORDED]
    for machine, path in zip(RECORDED, files):  # compare.py cannot read gzip files
        path.write_text(text_of(ROOT / f"results/runs/{machine}/full-study.json.gz"))
    _, text = shown(*files, page=tmp_path / "page.html")
    _, pairs = compare_py(tmp_path, "benchmarks", *files)
    mine = {one["name"]: one for key in ("steps", "oprows") for one in rows(text, key)}
    theirs = {name for name in pairs if name != "OVERALL_GEOMEAN" and "/op:" not in name}
    assert set(mine) == theirs and len(mine) > 1000
    for name, one in mine.items():
        (measured,) = pairs[name]["measurements"]
        assert float(one["change_pct"]) == pytest.approx(
            100 * measured["time"], rel=1e-12, abs=1e-9
        )
        ratio = measured["real_time"] / measured["real_time_other"]
        assert float(one["speedup"]) == pytest.approx(ratio, rel=1e-12)


def test_op_types_have_equal_ratios(tmp_path):
    """One workload and mode, so each sum on the page is one row of the file."""
    options = {"workloads": ("vgg",), "modes": ("train",), "op_rows": False}
    files = write(tmp_path, a=document(**options), b=document(uneven, **options, **OTHER))
    _, text = shown(*files, page=tmp_path / "page.html")
    _, pairs = compare_py(tmp_path, "benchmarks", *files)
    for op_type in made_up_run.PROFILES["vgg"]:
        name = f"{made_up_run.step_name('vgg')}/op:{op_type}/process_time/real_time"
        (measured,) = pairs[name]["measurements"]
        found = float(row(text, "types", type=op_type)["speedup"])
        assert 1 / found - 1 == pytest.approx(measured["time"], rel=1e-9)


def test_repetitions_have_the_change_of_the_median(tmp_path):
    """compare.py compares the aggregate `<name>_median` of both files."""
    factors = (1.0, 1.4, 0.9, 1.1, 1.3)
    options = {"workloads": ("vgg", "memnet"), "profile": False, "op_rows": False}
    files = write(
        tmp_path,
        a=document(repetitions=factors, **options),
        b=document(uneven, repetitions=[one**2 for one in factors], **options, **OTHER),
    )
    _, text = shown(*files, page=tmp_path / "page.html")
    _, pairs = compare_py(tmp_path, "benchmarks", *files)
    found = rows(text, "steps")
    assert len(found) == 4
    for one in found:
        (measured,) = pairs[f"{one['name']}_median"]["measurements"]
        assert float(one["change_pct"]) == pytest.approx(100 * measured["time"], rel=1e-9)


def test_the_mean_of_the_same_rows_is_the_overall_mean(tmp_path):
    options = {"workloads": ("alexnet", "vgg", "memnet"), "modes": ("train",)}
    options |= {"profile": False, "op_rows": False}
    files = write(tmp_path, a=document(**options), b=document(uneven, **options, **OTHER))
    _, text = shown(*files, page=tmp_path / "page.html")
    _, pairs = compare_py(tmp_path, "benchmarks", *files)
    (measured,) = pairs["OVERALL_GEOMEAN"]["measurements"]
    (mean,) = rows(text, "means")
    assert 1 / float(mean["speedup"]) - 1 == pytest.approx(measured["time"], rel=1e-9)
