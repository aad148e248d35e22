"""--fathom_resume continues a run that ended early."""

import json

import pytest

from program import QUICK, read_json, run, strict_json

ROWS = "--benchmark_filter=^(memnet/infer|op/matmul/vgg/fc8/forward/.*torch)"


@pytest.fixture(name="whole", scope="module")
def whole_run(tmp_path_factory):
    """The texts of a run's results file and samples file."""
    folder = tmp_path_factory.mktemp("whole")
    out, samples = folder / "out.json", folder / "steps.jsonl"
    files = [f"--benchmark_out={out}", f"--fathom_samples={samples}"]
    assert run(*QUICK, ROWS, "--fathom_profile", *files).returncode == 0
    return out.read_text(), samples.read_text()


def resume(folder, *arguments):
    files = [
        f"--benchmark_out={folder / 'out.json'}",
        f"--fathom_samples={folder / 'steps.jsonl'}",
    ]
    return run(*QUICK, ROWS, "--fathom_profile", *files, "--fathom_resume", *arguments)


def without_last_row(text):
    document = json.loads(text)
    document["benchmarks"].pop()
    document["context"]["load_avg"] = []  # in the layout of Google Benchmark
    lines = ",\n".join("    " + json.dumps(row) for row in document["benchmarks"])
    context = json.dumps(document["context"])
    return f'{{\n  "context": {context},\n  "benchmarks": [\n{lines}\n  ]\n}}\n'


def test_finished_rows_stay_and_the_others_run(tmp_path, whole):
    before = without_last_row(whole[0])
    (tmp_path / "out.json").write_text(before)
    samples = tmp_path / "steps.jsonl"
    samples.write_text(whole[1] + '{"name": "cut')
    result = resume(tmp_path)
    assert result.returncode == 0, result.stderr
    assert "holds 1 of 2 rows" in result.stderr
    kept, now = json.loads(before)["benchmarks"], read_json(tmp_path / "out.json")["benchmarks"]
    assert now[: len(kept)] == kept
    names = [row["name"] for row in now]
    assert names == [row["name"] for row in json.loads(whole[0])["benchmarks"]]
    steps = [strict_json(line) for line in samples.read_text().splitlines()]
    places = [(step["name"], step["repetition"], step["step"]) for step in steps]
    assert len(places) == len(set(places)) and {place[0] for place in places} == set(names)


def test_a_finished_run_is_not_changed(tmp_path, whole):
    (tmp_path / "out.json").write_text(whole[0])
    result = resume(tmp_path)
    assert result.returncode == 0 and "holds 2 of 2 rows" in result.stderr
    assert (tmp_path / "out.json").read_text() == whole[0]


def test_without_a_file_all_rows_run(tmp_path):
    assert resume(tmp_path).returncode == 0
    names = {row["run_name"] for row in read_json(tmp_path / "out.json")["benchmarks"]}
    assert len([name for name in names if "/op:" not in name]) == 2


@pytest.mark.parametrize(
    "text, found",
    [
        ('{"context": {', "no JSON of fathom_bench"),
        ('{"context": {}, "benchmarks": []}', "fathom_version"),
    ],
)
def test_a_file_of_another_kind_is_refused_and_kept(tmp_path, text, found):
    (tmp_path / "out.json").write_text(text)
    result = resume(tmp_path)
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert "out.json" in result.stderr and found in result.stderr
    assert (tmp_path / "out.json").read_text() == text


@pytest.mark.parametrize(
    "setting, found",
    [
        ("--fathom_seed=3", "was measured with seed '0', now it is '3'"),
        ("--fathom_memory", "was measured with fathom_memory 'off', now it is 'on'"),
        ("--benchmark_repetitions=2", "was measured with repetitions '1', now it is '2'"),
    ],
)
def test_another_setting_is_refused(tmp_path, whole, setting, found):
    (tmp_path / "out.json").write_text(whole[0])
    result = resume(tmp_path, setting)
    assert result.returncode == 2
    assert found in result.stderr
    assert (tmp_path / "out.json").read_text() == whole[0]


@pytest.mark.parametrize(
    "arguments, found",
    [
        ([], "needs --benchmark_out"),
        (["--benchmark_out=x", "--fathom_explain=vgg/train"], "not together with --fathom_resume"),
    ],
)
def test_it_needs_an_output_file(arguments, found):
    result = run("--fathom_resume", *arguments)
    assert result.returncode == 2 and found in result.stderr and result.stderr.count("\n") == 1


def test_a_setting_that_is_no_longer_given_is_refused(tmp_path, whole):
    document = json.loads(whole[0])
    document["context"]["rom"] = "pong.bin"
    (tmp_path / "out.json").write_text(json.dumps(document))
    result = resume(tmp_path)
    assert result.returncode == 2
    assert "was measured with rom 'pong.bin', now it is ''" in result.stderr
