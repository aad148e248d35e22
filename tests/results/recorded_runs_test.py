"""The runs in results/runs/ are readable, and results/convert_run.py converts older files."""

import json
import subprocess

import made_up_run as made_up
import pytest
from program import ROOT, gate, read_json, report

from fathom_runs.benchmarks import read_fathom
from fathom_runs.names import MODES, kind, step_of

RUNS = sorted(
    path for end in ("json", "json.gz") for path in (ROOT / "results/runs").rglob(f"*.{end}")
)


def convert(*files):
    return subprocess.run([ROOT / "results/convert_run.py", *files], capture_output=True, text=True)


def older(folder):
    """A file of an older program, with other names of two op types, and its samples."""
    document = made_up.document(workloads=("seq2seq", "speech"))
    for key in made_up.CATALOGUE:
        del document["context"][key]
    text = json.dumps(document, indent=2)
    text = text.replace("op/lstm_cell/", "op/attention/").replace("op:lstm_cell", "op:attention")
    run, samples = folder / "run.json", folder / "run.json.samples.jsonl"
    run.write_text(text)
    made_up.write(samples, made_up.samples("seq2seq"))
    samples.write_text(samples.read_text().replace("op:lstm_cell", "op:rnn"))
    return run, samples


@pytest.mark.parametrize("path", RUNS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_recorded_run_lists_its_op_types_and_workloads(path):
    found = read_fathom(path)
    catalogue = found.catalogue
    for benchmark in found.measured:
        parts = benchmark.name.split("/")
        if kind(benchmark.name) == "op" and "/ranks:" not in benchmark.name:
            assert parts[1] in catalogue.op_classes
        elif kind(benchmark.name) == "inside" and benchmark.label != "framework":
            assert catalogue.op_classes[step_of(benchmark.name)[1]] == benchmark.label
        elif kind(benchmark.name) == "step":
            assert f"{parts[0]}/{parts[1]}" in catalogue.default_batches
    workloads = {name.split("/")[0] for name in catalogue.default_batches}
    assert {f"{name}/infer" for name in workloads} <= set(catalogue.default_batches)
    assert {name.split("/")[1] for name in catalogue.default_batches} == set(MODES)
    assert set(catalogue.variant_of) | set(catalogue.variant_of.values()) <= workloads


def test_converting_gives_matmul_its_class(tmp_path):
    document = made_up.document(workloads=("seq2seq",))
    inside = [row for row in document["benchmarks"] if "/op:" in row["name"]]
    for row in inside:
        if "op:matmul/" in row["name"]:
            row["label"] = "framework"
    run = made_up.write(tmp_path / "run.json", document)
    assert convert(run).returncode == 0
    labels = {
        row["name"].split("/op:")[1].split("/")[0]: row["label"]
        for row in read_json(run)["benchmarks"]
        if "/op:" in row["name"]
    }
    assert labels["matmul"] == "matrix" and labels["framework"] == "framework"


def test_a_converted_file_is_readable(tmp_path):
    files = older(tmp_path)
    page = tmp_path / "report.html"
    assert report(files[0], "-o", page).returncode == 2
    result = convert(*files)
    assert result.returncode == 0 and result.stdout.count(": converted\n") == 2
    assert report(files[0], "-o", page).returncode == 0
    text = page.read_text()
    assert "op:attention" not in text and "additive_attention" in text
    assert "/op:clipped_relu_rnn/process_time" in files[1].read_text()


def test_converting_changes_only_names_and_only_once(tmp_path):
    run, _ = older(tmp_path)
    before = run.read_text()
    convert(run)
    text = run.read_text()
    lines = [
        line
        for line in text.splitlines()
        if not any(f'"{key}"' in line for key in made_up.CATALOGUE)
    ]
    assert lines == before.replace("attention", "additive_attention").splitlines()
    assert convert(run).stdout == f"{run}: is already current\n" and run.read_text() == text


@pytest.mark.parametrize(
    "text, found",
    [
        ('{"context": {}, "benchmarks": []}', "no fathom_version in its context"),
        ("[", "is truncated"),
    ],
)
def test_other_files_give_one_line_and_stay_unchanged(tmp_path, text, found):
    path = tmp_path / "run.json"
    path.write_text(text)
    result = convert(path)
    assert result.returncode == 2 and len(result.stderr.splitlines()) == 1
    assert found in result.stderr and "expected" in result.stderr and path.read_text() == text


def test_the_gate_needs_no_op_types_and_workloads_in_the_context(tmp_path):
    document = made_up.document(workloads=("memnet",))
    rows = list(made_up.repeated(document["benchmarks"], [1 + k / 1000 for k in range(9)]))
    new = made_up.write(tmp_path / "new.json", document | {"benchmarks": rows})
    context = {
        key: value
        for key, value in read_json(new)["context"].items()
        if key not in made_up.CATALOGUE
    }
    base = made_up.write(tmp_path / "base.json", {"context": context, "benchmarks": rows})
    assert gate(base, new).returncode == 3  # two runs have no verdict
