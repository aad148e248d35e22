"""The command line of results/predict: output, notes and errors."""

import gzip
import json
import re

import made_up_run as made_up
import pytest
from made_up_machines import CACHES, TINY, machine_file, op, run_file, step
from program import predict, refusals, strict_json

from fathom_predict import errors
from fathom_runs.words import percent

refused = refusals("predict")
VGG = "vgg/train/threads:1/batch:8"


@pytest.fixture
def run(tmp_path):
    """A step of 200 ms, a half compute and a half overhead."""
    rows = step(200_000, {"conv2d": 100, "framework": 100})
    rows += [op("conv2d", 1000, gflop=0.1), *TINY]
    return run_file(tmp_path / "run.json", rows, caches=CACHES)


@pytest.fixture
def there(tmp_path):
    """A machine with twice the peak and the overhead of `run`."""
    fields = {"peak_gflop_per_s": {"fp32": {"1": 200}}, "call_overhead_us": 2.5}
    return machine_file(tmp_path / "there.json", name="There", **fields)


def printed(*arguments):
    result = predict(*arguments)
    assert result.returncode == 0 and result.stderr == "", result.stderr
    return result.stdout


# --- output


def test_a_prediction_shows_both_times_and_what_bounds_it(run, there):
    lines = printed(run, f"--on={there}").splitlines()
    assert lines[:2] == [f"from {run}: Made-up CPU, 8 CPUs", f"to {there}: There"]
    (line,) = (line for line in lines if line.startswith("vgg/train"))
    assert re.fullmatch(r"vgg/train +1 +8 +200 ms +150 ms +0.75 +\d+ % +overhead 67 %", line)


def test_the_errors_of_recorded_machines_are_below_each_prediction(run, there):
    lines = printed(run, f"--on={there}").splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith("errors of such predictions"))
    rows = [re.split("  +", line)[0] for line in lines[begin + 1 :]]
    kinds = ("peaks alone", "the run that is predicted")
    assert rows == [
        *(f"{kind}{words}" for kind in kinds for words in ("", ", threads:1", ", threads:2")),
        f"{kinds[1]}: here without matmul_gflop_per_s and cache_gb_per_s",
    ]


def test_the_error_of_recorded_predictions_stands_beside_each_one(run, there, tmp_path):
    out = tmp_path / "out.json"
    text = printed(run, f"--on={there}", "-o", out)
    (step,) = strict_json(out.read_text())["steps"]
    within = errors.measure().within(150_000, 1)
    assert step["nine_of_ten_within_pct"] == pytest.approx(100 * within)
    assert f"0.75  {percent(100 * within).rjust(14)}" in text


def test_the_output_fits_a_terminal(tmp_path, there):
    """With long names, many types and both thread counts."""
    name = "a_network_of_a_user_with_a_very_long_name_that_nobody_can_remember"
    rows = [*step(900, workload=name), *step(800, threads=2, batch=4096), *TINY]
    peaks = {"fp32": {"1": 100, "2": 200}}
    there = machine_file(tmp_path / "two.json", name="There", peak_gflop_per_s=peaks)
    run = run_file(tmp_path / "run.json", rows, caches=CACHES, threads=(1, 2))
    for text in (printed(run, f"--on={there}"), printed("--errors")):
        tables = [line for line in text.splitlines() if "   " in line]
        assert tables and max(map(len, tables)) <= 100
    assert re.search(r"^a_network_\w+…\w+/train  ", printed(run, f"--on={there}"), re.M)


def test_with_one_recorded_machine_they_are_open(run, there, tmp_path):
    (tmp_path / "runs").mkdir()
    assert "errors of such predictions: open" in printed(
        run, f"--on={there}", f"--runs={tmp_path}/runs"
    )


def test_a_machine_may_be_one_of_the_project(run):
    assert "to made-up-8-cores: Made-up machine, 8 cores\n" in printed(run, "--on=made-up-8-cores")


def test_the_machine_of_the_run_may_be_given(tmp_path, there):
    bare = run_file(tmp_path / "bare.json", step(1000, flops_per_step=0.05e9))
    line = refused(bare, f"--on={there}")
    assert "bare.json: no sizes of two levels of `caches`" in line and "--from" in line
    here = machine_file(tmp_path / "here.json")
    text = printed(bare, f"--on={there}", f"--from={here}")
    assert "note: split by FLOPs of the step, not by op types of their own: 1 step\n" in text
    assert f"from {bare}: Here\n" in text


def test_markdown_holds_the_table(run, there, tmp_path):
    out = tmp_path / "prediction.md"
    printed(run, f"--on={there}", "-o", out)
    text = out.read_text()
    cells = r"200 ms \| 150 ms \| 0.75 \| \d+ % \| 33 \| 0 \| 0 \| 67 \| overhead \| op types \|"
    assert re.search(rf"^\| {VGG} \| {cells}$", text, re.M)
    for table in text.split("\n\n"):
        assert len({line.count("|") for line in table.splitlines()}) == 1


def test_outputs_may_be_gzip_files(run, there, tmp_path):
    out, machine = tmp_path / "out.json.gz", tmp_path / "machine.json.gz"
    printed(run, f"--on={there}", "-o", out)
    assert strict_json(gzip.decompress(out.read_bytes()).decode())["to"] == "There"
    printed(run, f"--write-machine={machine}")
    printed(run, f"--on={machine}")


def test_json_holds_the_op_types(run, there, tmp_path):
    out = tmp_path / "prediction.json"
    printed(run, f"--on={there}", "-o", out)
    found = strict_json(out.read_text())
    (one,) = found["steps"]
    assert one["name"].startswith("vgg/train/device:cpu/") and one["bound_by"] == "overhead"
    assert (one["here_us"], one["predicted_us"]) == pytest.approx((200_000, 150_000))
    assert one["compute_pct"] == pytest.approx(100 / 3)
    times = {each["op_type"]: each["predicted_us"] for each in one["op_types"]}
    assert times == pytest.approx({"conv2d": 50_000, "framework": 100_000})
    assert found["errors"]["pairs"] >= 2 and found["errors"]["steps"] > 0
    assert found["errors_own_run"]["steps"] == found["errors"]["steps"]


# --- notes


def noted(folder, there, extra):
    rows = step(1000, {"conv2d": 1000}) + extra + [op("conv2d", 1000, gflop=0.1), *TINY]
    run = run_file(folder / "run.json", rows, caches=CACHES, threads=(1, 2, 8))
    text = printed(run, f"--on={there}")
    return [line for line in text.splitlines() if line.startswith("note: ")]


def test_steps_without_a_peak_there_are_counted(tmp_path, there):
    extra = step(900, threads=2) + step(800, threads=2, batch=16)
    assert "note: 2 steps left out: There has no peak_gflop_per_s of fp32 and threads:2" in noted(
        tmp_path, there, extra
    )


def test_steps_with_more_threads_than_cores_are_counted(tmp_path):
    peaks = {"fp32": {"1": 100, "8": 400}}
    there = machine_file(tmp_path / "there.json", peak_gflop_per_s=peaks)
    assert "note: 1 step left out: Here has 4 cores, not the 8 of threads:8" in noted(
        tmp_path, there, step(900, threads=8)
    )


def test_steps_of_other_kinds_are_counted(tmp_path, there):
    gpu = made_up.row(made_up.step_name("vgg", device="cuda"), 10)
    other = made_up.row(made_up.step_name("vgg").replace("backend:torch", "backend:tuned"), 10)
    (note,) = (line for line in noted(tmp_path, there, [gpu, other]) if "steps on a GPU" in line)
    assert note.startswith("note: 2 steps on a GPU, on other kernels than LibTorch's or with ranks")


def test_the_note_of_a_machine_is_shown(run, tmp_path):
    there = machine_file(tmp_path / "there.json", note="Not measured.")
    assert "note: Here: Not measured.\n" in printed(run, f"--on={there}")


# --- errors


def test_a_run_without_steps_is_refused(tmp_path, there):
    ops = run_file(tmp_path / "ops.json", TINY, caches=CACHES)
    assert "ops.json: no step on the CPU with backend:torch, expected" in refused(
        ops, f"--on={there}"
    )


def test_a_wrong_file_names_the_command_that_makes_the_right_one(run, there, tmp_path):
    study = "./fathom_bench --fathom_study=fathom --fathom_device=cpu --benchmark_out=study.json"
    bare = run_file(tmp_path / "bare.json", step(1000))
    ops = run_file(tmp_path / "ops.json", TINY, caches=CACHES)
    samples = tmp_path / "samples.jsonl"
    samples.write_text('{"name": "a"}\n{"name": "b"}\n')
    for file, found in (
        (bare, f"{study} makes a run with all that is needed"),
        (ops, f"{study} makes such a run"),
        (
            there,
            f"is a machine file, which --on and --from name; expected a run as RUN; {study} makes",
        ),
        (samples, "which ./fathom_bench --benchmark_out=run.json writes"),
    ):
        assert found in refused(file, f"--on={there}")
    line = refused(run, f"--on={run}")
    assert f"{run}: is a run, expected a machine file" in line
    assert f"results/predict {run} --write-machine machine.json makes it" in line


@pytest.mark.parametrize(
    "peaks, found",
    [({"bf16": {"1": 100}}, "fp32 and threads:1"), ({"fp32": {"2": 100}}, "fp32 and threads:1")],
)
def test_a_machine_without_the_precision_or_thread_count_is_refused(run, tmp_path, peaks, found):
    there = machine_file(tmp_path / "there.json", peak_gflop_per_s=peaks)
    line = refused(run, f"--on={there}")
    assert line.startswith(f"predict: {there}: no step of {run} can be predicted")
    assert f"has no peak_gflop_per_s of {found}" in line


def test_machines_without_a_common_bandwidth_are_refused(tmp_path):
    rows = step(4000, {"relu": 4000}) + [op("relu", 4000, size=40e6, layer="second"), *TINY]
    run = run_file(tmp_path / "run.json", rows, caches=CACHES)
    there = machine_file(tmp_path / "there.json", memory_gb_per_s={"64": 100})
    assert "Here: no memory bandwidth of threads 1, which Made-up CPU" in refused(
        run, f"--on={there}"
    )


def test_broken_files_are_refused(run, there, tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    assert "broken.json: is truncated" in refused(broken, f"--on={there}")
    assert "broken.json: is not JSON" in refused(run, f"--on={broken}")
    assert "none: no such file, expected" in refused(run, "--on=none")
    assert "No such file" in refused(tmp_path / "none.json", f"--on={there}")
    assert "nowhere: no such folder" in refused("--errors", f"--runs={tmp_path}/nowhere")


def test_an_output_that_cannot_be_written_is_refused(run, there, tmp_path):
    before = there.read_text()
    assert "is an input and the output" in refused(run, f"--on={there}", "-o", there)
    assert "is an input and the output" in refused(run, f"--write-machine={run}")
    assert "unknown format, expected a name that ends in .md or .json" in refused(
        run, f"--on={there}", "-o", tmp_path / "out.txt"
    )
    assert "is a folder" in refused("--errors", "-o", tmp_path)
    assert "nowhere" in refused(run, f"--on={there}", "-o", tmp_path / "nowhere/out.md")
    assert there.read_text() == before and json.loads(run.read_text())


def test_an_output_that_is_a_recorded_run_is_refused(run, there, tmp_path):
    recorded = tmp_path / "runs/a/run.json"
    recorded.parent.mkdir(parents=True)
    recorded.write_bytes(run.read_bytes())
    folder = f"--runs={tmp_path}/runs"
    for command in (["--errors", "-o"], [run, f"--on={there}", "-o"], [run, "--write-machine"]):
        line = refused(folder, *command, recorded)
        assert f"{recorded}: is an input and the output, expected another {command[-1]}" in line
    assert recorded.read_bytes() == run.read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [
        *([], ["run.json"], ["--on=a"], ["run.json", "--errors"], ["--errors", "--on=a"]),
        # options without an effect
        *(["--errors", "--from=a"], ["run.json", "--write-machine=b.json", "--from=a"]),
        ["run.json", "--write-machine=b.json", "-o", "out.md"],
        ["run.json", "--on=a", "--without=cache_gb_per_s"],
    ],
)
def test_wrong_usage_exits_with_2(arguments):
    result = predict(*arguments)
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr.startswith("predict: ") and result.stderr.count("\n") == 1


def test_the_help_lists_the_exit_codes():
    assert "Exit codes: 0 ok, 2 wrong usage" in predict("--help").stdout
