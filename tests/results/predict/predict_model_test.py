"""How results/predict predicts steps from their op types and op rows, worked out by hand."""

import made_up_run as made_up
import pytest
from made_up_machines import FAST, QUICK, WIDE, machine, op, predicted, predictions, step


# --- steps


def test_the_remainder_is_carried_over(tmp_path):
    """The step takes 1.5 times as long as its profile, and the type in it twice as long as its op row."""
    rows = step(3000, {"conv2d": 2000}) + [op("conv2d", 1000, gflop=0.1)]
    assert predicted(tmp_path, rows, FAST).us == pytest.approx(3000 / 4)


def test_types_add_up_by_their_calls(tmp_path):
    # Per step, 100 µs of compute and 3 * 100 µs of overhead.
    rows = step(800, {"conv2d": 800}) + [
        op("conv2d", 100, gflop=0.01),
        op("conv2d", 100, layer="second", calls_per_model_step=3),
    ]
    assert predicted(tmp_path, rows, FAST).us == pytest.approx(800 * (100 / 4 + 300) / 400)


def test_time_between_ops_and_views_are_overhead(tmp_path):
    rows = step(1000, {"framework": 500, "view": 500}) + [op("conv2d", 100, gflop=0.01)]
    assert predicted(tmp_path, rows, FAST | QUICK).us == pytest.approx(500)


def test_views_with_the_name_of_an_op_type_are_overhead(tmp_path):
    rows = step(1000, {"conv2d": 1000}) + [op("conv2d", 1000, gflop=0.1)]
    rows[1]["label"] = "framework"
    assert predicted(tmp_path, rows, FAST | QUICK).us == pytest.approx(500)


def test_of_two_backends_that_of_the_step_counts(tmp_path):
    slow = op("conv2d", 2000, gflop=0.1)
    vendor = made_up.row(made_up.op_name("conv2d", "vgg", "first", "onednn"), 1, flops=1)
    rows = step(1000, {"conv2d": 1000}) + [slow, vendor]
    assert predicted(tmp_path, rows, FAST).us == pytest.approx(1000 * (1000 / 4 + 1000) / 2000)


def test_the_fastest_sample_counts(tmp_path):
    # By the means, half of the op's time would be overhead.
    rows = step(2000, {"conv2d": 5}, min_us=1000) + [op("conv2d", 2000, gflop=0.1, min_us=1000)]
    one = predicted(tmp_path, rows, FAST | QUICK)
    assert one.step.us == 1000 and one.us == pytest.approx(250)


def test_two_threads_scale_with_the_peaks_of_two(tmp_path):
    rows = step(1000, {"conv2d": 1000}, threads=2) + [op("conv2d", 1000, gflop=0.1)]
    assert predicted(tmp_path, rows, FAST).us == pytest.approx(1000 / 3)


@pytest.mark.parametrize(
    "here, there, factor",
    [
        ({1: 10, 2: 10}, {1: 50, 2: 20}, 1 / 2),
        ({1: 10}, {1: 50, 2: 20}, 1 / 5),
        ({2: 10, 4: 10}, {4: 40}, 1 / 4),
    ],
)
def test_the_nearest_common_thread_count_gives_the_bandwidth(tmp_path, here, there, factor):
    rows = step(4000, {"relu": 4000}, threads=2) + [op("relu", 4000, size=40e6)]
    one = predicted(tmp_path, rows, {"memory_gb_per_s": there}, machine(memory_gb_per_s=here))
    assert one.us == pytest.approx(4000 * factor)


def test_op_rows_of_the_threads_of_the_step_count(tmp_path):
    # On two threads, 0.1 GFLOP take 500 µs of 1000.
    rows = step(1000, {"conv2d": 1000}, threads=2)
    rows += [op("conv2d", 1000, gflop=0.1), op("conv2d", 1000, gflop=0.1, threads=2)]
    assert predicted(tmp_path, rows, FAST).us == pytest.approx(500 / 3 + 500)


# --- steps and types with fewer rows


def test_a_type_without_op_rows_uses_those_of_other_workloads(tmp_path):
    rows = step(1000, {"conv2d": 1000}) + [op("conv2d", 10, gflop=0.001, workload="alexnet")]
    assert predicted(tmp_path, rows, FAST).us == pytest.approx(250)


def test_then_those_of_its_class(tmp_path):
    rows = step(4000, {"relu": 4000}) + [op("mul", 4000, size=40e6, workload="alexnet")]
    assert predicted(tmp_path, rows, WIDE).us == pytest.approx(800)


def test_then_it_is_overhead(tmp_path):
    rows = step(1000, {"softmax": 1000}) + [op("mul", 4000, size=40e6, workload="alexnet")]
    assert predicted(tmp_path, rows, WIDE | QUICK).us == pytest.approx(500)


def test_a_step_without_op_types_uses_those_of_the_nearest_batch(tmp_path):
    rows = step(900, {"relu": 900}, batch=2) + step(300, batch=16) + step(400, {"conv2d": 400})
    rows += [op("conv2d", 100, gflop=0.01), op("relu", 100)]
    found = predictions(tmp_path, rows, there=machine(**FAST | QUICK))
    assert [one.us for one in found] == pytest.approx([450, 75, 100])
    assert [one.source for one in found] == [
        "op types",
        "op types of threads:1/batch:8",
        "op types",
    ]


def test_a_step_without_any_op_types_uses_its_op_rows(tmp_path):
    rows = step(1000) + [op("conv2d", 100, gflop=0.01), op("relu", 300)]
    one = predicted(tmp_path, rows, FAST | QUICK)
    assert one.us == pytest.approx(1000 * (100 / 4 + 300 / 2) / 400) and one.source == "op rows"


def test_a_step_without_op_rows_uses_its_flops(tmp_path):
    one = predicted(tmp_path, step(1000, flops_per_step=0.04e9), FAST | QUICK)
    assert one.us == pytest.approx(400 / 4 + 600 / 2) and one.source == "FLOPs of the step"


def test_a_step_of_which_nothing_is_known_is_overhead(tmp_path):
    one = predicted(tmp_path, step(1000), FAST | QUICK)
    assert one.us == pytest.approx(500) and one.source == "its time only"
