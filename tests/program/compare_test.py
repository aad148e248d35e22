"""The real compare.py reads our files and pairs every row, in each of its modes."""

import pytest

from compare_py import compare_py, needs_compare_py
from program import MADE_UP_PEAKS, ONE_ROW, PROGRAM, cores, read_json, run

THREADS = [1, 2][: cores()]
ROWS = [
    f"--fathom_threads={','.join(map(str, THREADS))}",
    "--benchmark_min_time=0.01",
    f"--fathom_peaks={MADE_UP_PEAKS}",
    "--benchmark_filter=^(memnet/infer|op/matmul/vgg/fc8)/",
    "--fathom_profile",  # rows of op types, too
]
REPETITIONS = 4  # the fewest that the U test can call different

pytestmark = needs_compare_py


def measured(file, *options):
    assert run(*ROWS, *options, f"--benchmark_out={file}").returncode == 0
    return file


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """Two runs."""
    folder = tmp_path_factory.mktemp("once")
    return [measured(folder / name) for name in ("a.json", "b.json")]


@pytest.fixture(scope="module")
def repeated(tmp_path_factory):
    """A run, twice."""
    folder = tmp_path_factory.mktemp("repeated")
    return [measured(folder / "a.json", f"--benchmark_repetitions={REPETITIONS}")] * 2


def compare(folder, *arguments):
    """What compare.py prints, and the pairs that it found by name."""
    text, found = compare_py(folder, *arguments)
    found.pop("OVERALL_GEOMEAN", None)  # of repetitions only
    return text, found


def names(file, part=""):
    """Of the measured rows that have the part, in order."""
    rows = [row for row in read_json(file)["benchmarks"] if row["run_type"] == "iteration"]
    return list(dict.fromkeys(row["name"] for row in rows if part in row["name"]))


def pairs_all(found, expected, repetitions=1):
    """Whether each expected name has a pair a repetition, and no other has one."""
    iterations = {name: one for name, one in found.items() if one["run_type"] == "iteration"}
    assert set(iterations) == set(expected) and len(expected) > 0
    for name, one in iterations.items():
        assert len(one["measurements"]) == repetitions, name
    return True


def filtered(file, first, second):
    """Rows that two filters give a pair each, under the names that they get."""
    sides = (
        {name.replace(part, f"[{first} vs. {second}]") for name in names(file, part)}
        for part in (first, second)
    )
    return set.intersection(*sides)


def test_the_files_have_rows_of_each_kind(once):
    found = names(once[0])
    assert any(name.startswith("memnet/infer/") for name in found)
    assert any("/op:framework/" in name for name in found)
    assert any(name.startswith("op/matmul/") for name in found)


def test_benchmarks_pairs_every_row(tmp_path, once):
    _, found = compare(tmp_path, "benchmarks", *once)
    assert pairs_all(found, names(once[0]))


def test_filters_pair_backend_with_backend(tmp_path, once):
    if not names(once[0], "backend:onednn/"):
        pytest.skip("built without oneDNN")
    filters = ["backend:torch/", "backend:onednn/"]
    _, found = compare(tmp_path, "filters", once[0], *filters)
    assert pairs_all(found, filtered(once[0], *filters))
    assert len(found) == len(names(once[0], "backend:onednn/"))


def test_filters_pair_pass_with_pass(tmp_path, once):
    filters = ["/dgrad/", "/wgrad/"]
    _, found = compare(tmp_path, "filters", once[0], *filters)
    assert pairs_all(found, filtered(once[0], *filters))
    assert len(found) == len(names(once[0], "/dgrad/")) == len(names(once[0], "/wgrad/"))


@pytest.mark.skipif(len(THREADS) < 2, reason="one core")
def test_filters_pair_thread_counts_of_every_row(tmp_path, once):
    filters = ["threads:1/", "threads:2/"]
    _, found = compare(tmp_path, "filters", once[0], *filters)
    assert pairs_all(found, filtered(once[0], *filters))
    assert 2 * len(found) == len(names(once[0]))


@pytest.mark.skipif(len(THREADS) < 2, reason="one core")
def test_benchmarksfiltered_pairs_rows_of_two_files(tmp_path, once):
    filters = ["threads:1/", "threads:2/"]
    sides = [once[0], filters[0], once[1], filters[1]]
    _, found = compare(tmp_path, "benchmarksfiltered", *sides)
    assert pairs_all(found, filtered(once[0], *filters))
    assert 2 * len(found) == len(names(once[0]))


def test_repetitions_are_paired_and_tested(tmp_path, repeated):
    text, found = compare(tmp_path, "benchmarks", *repeated)
    assert pairs_all(found, names(repeated[0]), REPETITIONS)
    for name in names(repeated[0]):
        test = found[name]["utest"]
        assert test["nr_of_repetitions"] == test["nr_of_repetitions_other"] == REPETITIONS
        assert 0 <= test["time_pvalue"] <= 1
    assert sum("U Test, Repetitions: 4 vs 4" in line for line in text) == len(names(repeated[0]))


def test_aggregates_are_paired(tmp_path, repeated):
    _, found = compare(tmp_path, "benchmarks", *repeated)
    aggregates = {name for name, one in found.items() if one["run_type"] == "aggregate"}
    assert aggregates == {
        f"{name}_{aggregate}"
        for name in names(repeated[0])
        for aggregate in ("mean", "median", "stddev", "cv")
    }


def test_aggregates_only_shows_no_repetition(tmp_path, repeated):
    text, _ = compare(tmp_path, "-a", "benchmarks", *repeated)
    shown = [line.split()[0] for line in text if "/process_time/real_time" in line]
    assert sorted(shown) == sorted(
        f"{name}_{aggregate}"
        for name in names(repeated[0])
        for aggregate in ("pvalue", "mean", "median", "stddev", "cv")
    )


def test_a_file_of_aggregates_pairs_them(tmp_path):
    only = [f"--benchmark_repetitions={REPETITIONS}", "--benchmark_report_aggregates_only"]
    file = measured(tmp_path / "a.json", *only)
    _, found = compare(tmp_path, "benchmarks", file, file)
    rows = read_json(file)["benchmarks"]
    assert set(found) == {row["name"] for row in rows} and len(found) > 0


@pytest.mark.skipif(len(THREADS) < 2, reason="one core")
def test_filters_pair_every_repetition(tmp_path, repeated):
    filters = ["threads:1/", "threads:2/"]
    _, found = compare(tmp_path, "filters", repeated[0], *filters)
    assert pairs_all(found, filtered(repeated[0], *filters), REPETITIONS)


def test_it_runs_the_program_itself(tmp_path):
    _, found = compare(tmp_path, "benchmarks", PROGRAM, PROGRAM, *ONE_ROW)
    (name,) = found
    assert name.startswith("op/matmul/vgg/fc8/forward/")
