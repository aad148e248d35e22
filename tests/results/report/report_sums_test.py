"""The table of results/report that compares each step with the sum of its ops."""

import made_up_ranks
import made_up_run as made_up
import pytest
from made_up_figures import folder, load
from program import QUICK, read_json, run

from fathom_report.ours.sums import with_ops
from fathom_report.run import read

STEP = made_up.step_name("vgg")


def op(op_type, us, layer="first", in_steps=1, backend="torch", cache="hot", train=1, infer=0):
    name = made_up.op_name(op_type, "vgg", layer, backend, cache)
    calls = {"calls_per_model_step": train, "calls_per_inference": infer}
    return made_up.row(name, us, **calls, **({"in_steps": 1} if in_steps else {}))


def inside(op_type, us, of=100, step=STEP):
    label = made_up.CLASSES.get(op_type, "reduction")
    return made_up.row(f"{step}/op:{op_type}", us, label, pct_of_step=100 * us / of)


def table(folder, *rows):
    return with_ops(load(folder, {"context": made_up.context(), "benchmarks": list(rows)}))


def only(folder, *rows):
    """The row of the only step."""
    (found,) = table(folder, *rows).to_dict("records")
    return found


def step(us=100, name=STEP):
    return made_up.row(name, us)


def test_times_are_added_by_the_calls_of_the_mode(folder):
    infer = made_up.step_name("vgg", "infer")
    ops = [op("matmul", 5, train=4, infer=2), op("conv2d", 30, train=2), op("relu", 7, train=0)]
    found = table(folder, step(), step(10, infer), *ops).set_index("mode")
    assert dict(found.sum_us) == {"train": 80, "infer": 10}
    assert dict(found.sum_pct_of_step) == {"train": 80, "infer": 100}
    assert "cold_sum_pct_of_step" not in found


def test_ops_that_the_step_does_not_run_are_left_out(folder):
    other = made_up.row(
        made_up.op_name("matmul", "memnet", "a"), 9, calls_per_model_step=1, in_steps=1
    )
    ops = [op("relu", 90, in_steps=0), op("relu", 30, backend="native"), op("matmul", 50)]
    ops += [op("matmul", 5, in_steps=0, backend="onednn"), other]
    tuned = step(60, STEP.replace("backend:torch", "backend:tuned"))
    found = only(folder, tuned, step(), *ops, *made_up_ranks.rows(("vgg",)))
    assert (found["us"], found["sum_us"]) == (100, 80)


def test_cold_ops_are_added_apart_and_an_op_without_a_cold_row_counts_hot(folder):
    found = only(folder, step(), op("matmul", 50), op("matmul", 60, cache="cold"), op("relu", 20))
    assert (found["sum_pct_of_step"], found["cold_sum_pct_of_step"]) == (70, 80)


def test_op_types_without_rows_and_the_largest_differences_are_named(folder):
    types = [
        inside("matmul", 50),
        inside("cumsum", 20),
        inside("relu", 15),
        inside("framework", 15),
    ]
    found = only(folder, step(), *types, op("matmul", 40), op("relu", 15.05))
    assert found["types_without_rows"] == "cumsum 20.0" and found["differences"] == "matmul +10.0"
    assert found["between_pct_of_step"] == pytest.approx(15)
    assert not {"between_pct_of_step", "differences"} & only(folder, step(), op("relu", 1)).keys()


def test_the_usual_batch_and_the_medians_of_repetitions_count(folder):
    large = STEP.replace("batch:8", "batch:32")
    rows = [*made_up.repeated([op("matmul", 50)], (2, 0.9, 1)), step(400, large)]
    found = only(
        folder, step(), *rows, inside("framework", 300, 400, large), inside("framework", 10)
    )
    assert (found["batch"], found["sum_us"]) == (8, 50)
    assert found["between_pct_of_step"] == pytest.approx(10)


def test_op_types_or_ops_without_their_step_give_no_row(folder):
    assert table(folder, inside("matmul", 90), op("matmul", 50)).empty
    assert table(folder, step(), inside("matmul", 90)).empty


def test_the_sum_is_that_of_what_the_program_writes(tmp_path):
    out = tmp_path / "run.json"
    wanted = "--benchmark_filter=^memnet/infer|^op/[a-z_0-9]+/memnet/"
    assert run(*QUICK, wanted, "--fathom_profile", f"--benchmark_out={out}").returncode == 0
    (found,) = with_ops(read([out])).to_dict("records")
    ours = [row for row in read_json(out)["benchmarks"] if row.get("in_steps")]
    alone = sum(row["real_time"] * row.get("calls_per_inference", 0) for row in ours)
    assert found["workload"] == "memnet" and found["sum_us"] == pytest.approx(alone) and alone > 0
