"""results/op_sums.py adds up what the program wrote."""

import json
import subprocess
import sys

import made_up_ranks
import made_up_run as made_up
import pytest
from program import QUICK, ROOT, run

SCRIPT = ROOT / "results/op_sums.py"
STEP = "net/{}/device:cpu/threads:1/batch:2/precision:fp32/backend:torch"
OP = "op/{}/device:cpu/threads:1/precision:fp32/cache:hot/backend:{}"


row = made_up.row


def lines(tmp_path, rows):
    file = made_up.write(tmp_path / "run.json", {"context": {}, "benchmarks": rows})
    result = subprocess.run([sys.executable, SCRIPT, file], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in result.stdout.splitlines()]


def test_adds_times_by_count(tmp_path):
    _, _, train, infer = lines(
        tmp_path,
        [
            row(STEP.format("train"), 10_000),
            row(STEP.format("infer"), 1_000),
            row(
                OP.format("matmul/net/a/forward", "torch"),
                500,
                calls_per_model_step=4,
                calls_per_inference=2,
            ),
            row(OP.format("matmul/net/a/dgrad", "torch"), 3_000, calls_per_model_step=2),
            row(OP.format("matmul/other/a/dgrad", "torch"), 7_000, calls_per_model_step=2),
        ],
    )
    assert train[:4] == ["net/train", "10", "8", "0.800"]
    assert infer[:4] == ["net/infer", "1", "1", "1.000"]


def test_takes_what_the_workloads_run(tmp_path):
    (*_, train) = lines(
        tmp_path,
        [
            row(STEP.format("train"), 100),
            row(OP.format("lrn/net/a/forward", "torch"), 90, calls_per_model_step=1),
            row(OP.format("lrn/net/a/forward", "native"), 30, calls_per_model_step=1),
            row(OP.format("matmul/net/a/forward", "torch"), 50, calls_per_model_step=1),
            row(OP.format("matmul/net/a/forward", "onednn"), 5, calls_per_model_step=1),
        ],
    )
    assert train[3:5] == ["0.800", ""]


def test_compares_with_the_step_on_torch(tmp_path):
    (*_, train) = lines(
        tmp_path,
        [
            row(STEP.format("train").replace("backend:torch", "backend:tuned"), 60),
            row(STEP.format("train"), 100),
            row(OP.format("matmul/net/a/forward", "torch"), 90, calls_per_model_step=1),
        ],
    )
    assert train[:4] == ["net/train", "0.1", "0.09", "0.900"]


def test_rows_with_ranks_are_left_out(tmp_path):
    step = made_up.step_name("vgg")
    op = made_up.op_name("matmul", "vgg", "a")
    (*_, train) = lines(
        tmp_path,
        [
            *made_up_ranks.rows(("vgg",)),
            row(step, 100),
            row(op, 90, calls_per_model_step=1),
        ],
    )
    assert train[:4] == ["vgg/train", "0.1", "0.09", "0.900"]


def test_adds_cold_rows_apart(tmp_path):
    cold = OP.replace("hot", "cold")
    (*_, train) = lines(
        tmp_path,
        [
            row(STEP.format("train"), 100),
            row(OP.format("matmul/net/a/forward", "torch"), 50, calls_per_model_step=1),
            row(cold.format("matmul/net/a/forward", "torch"), 60, calls_per_model_step=1),
            row(OP.format("gather/net/a/forward", "torch"), 20, calls_per_model_step=1),
        ],
    )
    assert train[3:5] == ["0.700", "0.800"]


def test_rows_say_whose_code_steps_run(tmp_path):
    (*_, train) = lines(
        tmp_path,
        [
            row(STEP.format("train"), 100),
            row(OP.format("adam/net/a/update", "torch"), 90, calls_per_model_step=1, in_steps=1),
            row(OP.format("adam/net/a/update", "native"), 30, calls_per_model_step=1),
        ],
    )
    assert train[3] == "0.900"


def test_says_what_has_no_rows_and_what_moved(tmp_path):
    inside = STEP.format("train") + "/op:"
    (*_, train) = lines(
        tmp_path,
        [
            row(STEP.format("train"), 100),
            row(inside + "matmul", 70, label="matrix"),
            row(inside + "cumsum", 20, label="reduction"),
            row(inside + "framework", 10, label="framework"),
            row(OP.format("matmul/net/a/forward", "torch"), 60, calls_per_model_step=1),
        ],
    )
    assert train[5:] == ["cumsum 20.0", "10.0", "matmul +10.0"]


def test_takes_medians_of_repetitions(tmp_path):
    op = row(OP.format("matmul/net/a/forward", "torch"), 50, calls_per_model_step=1)
    step = row(STEP.format("train"), 100)
    (*_, train) = lines(tmp_path, [step, *made_up.repeated([op], (2, 0.9, 1))])
    assert train[3] == "0.500"


def test_what_was_skipped_is_left_out(tmp_path):
    op = row(OP.format("matmul/net/a/forward", "torch"), 50, calls_per_model_step=1)
    skipped = op | {"skipped": True, "skip_message": "no", "real_time": 0.0}
    (*_, train) = lines(tmp_path, [row(STEP.format("train"), 100), op, skipped])
    assert train[3] == "0.500"


def test_reads_what_the_program_writes(tmp_path):
    out = tmp_path / "run.json"
    filter_ = "--benchmark_filter=^memnet/infer|^op/[a-z_0-9]+/memnet/"
    assert run(*QUICK, filter_, "--fathom_profile", f"--benchmark_out={out}").returncode == 0
    rows = json.loads(out.read_text())["benchmarks"]
    (*_, infer) = lines(tmp_path, rows)
    (step,) = [
        row for row in rows if row["name"].startswith("memnet/infer/") and "/op:" not in row["name"]
    ]
    assert infer[:2] == ["memnet/infer", f"{step['real_time'] / 1e3:.4g}"]
    ours = [row for row in rows if row.get("in_steps")]
    alone = sum(row["real_time"] * row.get("calls_per_inference", 0) for row in ours)
    assert float(infer[2]) == pytest.approx(alone / 1e3, rel=1e-3) and alone > 0


def test_a_file_of_another_kind_is_one_line(tmp_path):
    file = tmp_path / "run.json"
    for text in ("{}", "[", '{"context": {}, "benchmarks": []}'):
        file.write_text(text)
        result = subprocess.run([sys.executable, SCRIPT, file], capture_output=True, text=True)
        assert result.returncode == 2
        assert len(result.stderr.splitlines()) == 1 and "expected" in result.stderr


def test_a_row_that_two_files_have_is_one_line(tmp_path):
    step = row(STEP.format("train"), 100)
    op = row(OP.format("matmul/net/a/forward", "torch"), 50, calls_per_model_step=1)
    files = [
        made_up.write(tmp_path / name, {"context": {}, "benchmarks": rows})
        for name, rows in {"step.json": [step], "ops.json": [op], "again.json": [step]}.items()
    ]
    command = [sys.executable, SCRIPT]
    assert subprocess.run([*command, *files[:2]], capture_output=True).returncode == 0
    result = subprocess.run([*command, *files], capture_output=True, text=True)
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr == (
        f"op_sums: {files[2]}: has {step['name']}, as {files[0]} does; expected each row in one file\n"
    )


def test_of_several_batch_sizes_the_first_counts(tmp_path):
    train = STEP.format("train")
    other = train.replace("batch:2", "batch:8")
    (*_, found) = lines(
        tmp_path,
        [
            row(train, 100),
            row(train + "/op:matmul", 90, label="matrix"),
            row(train + "/op:framework", 10, label="framework"),
            row(other, 400),
            row(other + "/op:framework", 300, label="framework"),
            row(OP.format("matmul/net/a/forward", "torch"), 50, calls_per_model_step=1),
        ],
    )
    assert found[1] == "0.1" and found[6] == "10.0"


def test_op_types_without_their_step_are_left_out(tmp_path):
    train = STEP.format("train")
    inside = row(train + "/op:matmul", 90, label="matrix")
    rows = [row(OP.format("matmul/net/a/forward", "torch"), 50, calls_per_model_step=1), inside]
    (*_, found) = lines(tmp_path, [*rows, row(train, 100)])
    assert found[1] == "0.1" and found[6] == "0.0", "the step may follow its op types"
    file = made_up.write(tmp_path / "run.json", {"context": {}, "benchmarks": rows})
    result = subprocess.run([sys.executable, SCRIPT, file], capture_output=True, text=True)
    assert result.returncode == 2 and "no step on the CPU" in result.stderr


@pytest.mark.parametrize("part", ["/backend:torch", "/cache:hot", "/device:cpu"])
def test_a_name_that_lacks_a_part_is_one_line(tmp_path, part):
    op = row(OP.format("matmul/net/a/forward", "torch").replace(part, ""), 50)
    rows = [row(STEP.format("train"), 100), op]
    file = made_up.write(tmp_path / "run.json", {"context": {}, "benchmarks": rows})
    result = subprocess.run([sys.executable, SCRIPT, file], capture_output=True, text=True)
    key = part[1:].partition(":")[0]
    assert result.returncode == 2
    assert result.stderr == (
        f"op_sums: {file}: {op['name']} lacks a valid {key!r}, expected a name as in docs/results.md\n"
    )
