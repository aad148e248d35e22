"""--fathom_resume continues a run that ended early."""

import json
import os

import pytest

from program import WITH_PEAKS as QUICK, read_json, run, strict_json

ROWS = "--benchmark_filter=^(memnet/infer|op/matmul/vgg/fc8/forward/.*torch/)"


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


def with_context(text, **fields):
    """The text of a run with other fields of the context, in the layout of Google Benchmark."""
    document = json.loads(text)
    document["context"] |= fields
    rows = ",\n".join("    " + json.dumps(row) for row in document["benchmarks"])
    return (
        f'{{\n  "context": {json.dumps(document["context"])},\n  "benchmarks": [\n{rows}\n  ]\n}}\n'
    )


@pytest.mark.parametrize(
    "field",
    ["host_name", "executable", "date", "load_avg", "gpu_pci_bus_id", "command_line", "own_field"],
)
def test_the_same_machine_in_another_container_is_resumed(tmp_path, whole, field):
    (tmp_path / "out.json").write_text(with_context(whole[0], **{field: "other"}))
    result = resume(tmp_path)
    assert result.returncode == 0 and "holds 2 of 2 rows" in result.stderr, result.stderr


@pytest.mark.parametrize(
    "field",
    [
        *("cpu", "cpu_family", "cpu_capability", "num_cpus", "caches", "machine_name", "gpu"),
        *("affinity", "openmp", "malloc", "environment", "allocator", "libraries", "libtorch"),
        *("git_commit", "build_id", "fathom_kernels", "fathom_kernel_choice", "fathom_shapes"),
    ],
)
def test_another_machine_build_or_setting_is_refused(tmp_path, whole, field):
    text = with_context(whole[0], **{field: "other"})
    (tmp_path / "out.json").write_text(text)
    result = resume(tmp_path)
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert f"was measured with {field} 'other', now it is '" in result.stderr
    assert (tmp_path / "out.json").read_text() == text


def test_the_machines_state_is_compared_where_both_runs_checked_it(tmp_path, whole):
    known = json.loads(whole[0])["context"].keys()
    key = next((key for key in ("machine_smt", "machine_huge_pages") if key in known), None)
    if key is None:
        pytest.skip("the kernel reports neither")
    (tmp_path / "out.json").write_text(with_context(whole[0], **{key: "other"}))
    assert f"was measured with {key} 'other'" in resume(tmp_path).stderr
    result = resume(tmp_path, "--fathom_machine_check=off")
    assert result.returncode == 0, result.stderr


def test_a_variable_that_changes_times_is_refused(tmp_path, whole):
    (tmp_path / "out.json").write_text(whole[0])
    files = [f"--benchmark_out={tmp_path / 'out.json'}", "--fathom_samples=" + str(tmp_path / "s")]
    limited = os.environ | {"ONEDNN_MAX_CPU_ISA": "SSE41"}
    arguments = [*QUICK, ROWS, "--fathom_profile", *files, "--fathom_resume"]
    result = run(*arguments, env=limited)
    assert result.returncode == 2 and "ONEDNN_MAX_CPU_ISA=SSE41" in result.stderr


def test_shapes_with_another_content_are_refused(tmp_path):
    out, shapes = tmp_path / "out.json", tmp_path / "shapes.json"
    row = {"op": "matmul", "layer": "tiny", "pass": "forward", "count": 1, "m": 3, "n": 5, "k": 7}
    arguments = [*QUICK, "--benchmark_filter=^op/matmul/mine/.*torch/", f"--benchmark_out={out}"]
    arguments += [f"--fathom_shapes={shapes}"]
    shapes.write_text(json.dumps({"workload": "mine", "rows": [row]}))
    result = run(*arguments)
    assert result.returncode == 0, result.stderr
    assert "holds 1 of 1 row" in run(*arguments, "--fathom_resume").stderr
    shapes.write_text(json.dumps({"workload": "mine", "rows": [row | {"k": 9}]}))
    result = run(*arguments, "--fathom_resume")
    assert result.returncode == 2 and "was measured with fathom_shapes '" in result.stderr


def peaks_of(context):
    return {key: value for key, value in context.items() if key.startswith("peak_")}


def test_the_peaks_of_the_file_stay(tmp_path, whole):
    """All rows of a file are compared with one peak."""
    key = "peak_flops_cpu_threads1_fp32"
    text = with_context(without_last_row(whole[0]), **{key: "123.4 GFLOP/s, made up, 1 try"})
    (tmp_path / "out.json").write_text(text)
    before = peaks_of(json.loads(text)["context"])
    assert resume(tmp_path).returncode == 0
    document = read_json(tmp_path / "out.json")
    assert peaks_of(document["context"]) == before
    row = document["benchmarks"][-1]
    assert row["flops_pct_peak"] == pytest.approx(100 * row["flops"] / 123.4e9, rel=1e-3)


def test_other_peaks_are_refused(tmp_path, whole):
    key = "peak_flops_cpu_threads1_fp32"
    (tmp_path / "out.json").write_text(without_last_row(whole[0]))
    peaks = tmp_path / "peaks.json"
    peaks.write_text(json.dumps({"context": {key: "123.4 GFLOP/s, made up"}}))
    result = resume(tmp_path, f"--fathom_peaks={peaks}")
    assert result.returncode == 2 and result.stderr.count("\n") == 2
    assert f"{key} differs from that of " in result.stderr
