"""Fathom's figures, from made-up runs with known results."""

import made_up_run as made_up
import pytest
from made_up_backends import in_format
from made_up_figures import everything, figures, folder, load, of

from fathom_page import palette
from fathom_page.figure import Missing
from fathom_report.fathom.likeness import cell_words


def test_drift_is_found_and_named(everything):
    figure = everything["fathom-1"]
    one = figure.data.drop_duplicates(["workload", "type"]).set_index(["workload", "type"])
    assert one.drifts["vgg", "conv2d"] and not one.drifts["alexnet", "conv2d"]
    assert "3 drift: vgg's conv2d (rising)" in figure.sentence


def test_samples_of_steps_replace_missing_samples_of_op_types(folder):
    name = made_up.step_name("vgg") + "/process_time/real_time"
    lines = [
        f'{{"name": "{name}", "repetition": 0, "step": {n}, "us": {100 + n % 2}}}'
        for n in range(12)
    ]
    figure = of(folder, "fathom-1", lines, workloads=("vgg",))
    assert figure.sentence.startswith("vgg over 12 steps: it does not drift")


def test_short_series_are_not_tested_for_drift(folder):
    samples = made_up.samples("alexnet", steps=4) + made_up.samples("vgg", steps=40)
    figure = of(folder, "fathom-1", samples, workloads=("alexnet", "vgg"))
    assert ": none of the 3 with 10 steps or more drifts" in figure.sentence


def test_too_few_samples_are_mentioned(folder):
    figure = of(folder, "fathom-1", made_up.samples("vgg", steps=4), workloads=("vgg",))
    assert "too few to detect drift" in figure.sentence


def test_types_add_up_to_the_time_in_ops(everything):
    data = everything["fathom-2"].data
    alexnet = data[data.workload == "alexnet"]
    assert list(alexnet.type) == ["conv2d", "matmul", "relu", "dropout", "momentum"]
    assert alexnet.cumulative_pct.iloc[0] == pytest.approx(100 * 6000 / 9900)
    assert alexnet.cumulative_pct.iloc[-1] == pytest.approx(100)


def test_op_types_are_counted_up_to_90_percent(folder):
    assert of(folder, "fathom-2").sentence.startswith(
        "2 to 3 op types take 90 % of the time in ops of 5"
    )
    single = of(folder, "fathom-2", workloads=("alexnet",))
    assert single.sentence.startswith("3 op types of 5 take 90 % of alexnet's time in ops")


def test_passes_are_counted_as_op_types_of_their_own(folder):
    """alexnet's conv2d gets a gradient of many short calls, which take as long as its forward passes."""
    forward_us = made_up.type_us("alexnet", "conv2d", 1) / made_up.IN_STEP
    name = made_up.op_name("conv2d", "alexnet", "first", passes="dgrad")
    gradient = made_up.row(name, forward_us / 400, calls_per_model_step=400, in_steps=1)
    figure = of(folder, "fathom-2", workloads=("alexnet",), extra=[gradient])
    assert "3 op types of 5 take 90 %" in figure.sentence
    assert ". With passes as types of their own, as in TensorFlow: 4. Setting" in figure.sentence
    both = of(folder, "fathom-2", workloads=("alexnet", "vgg"), extra=[gradient]).sentence
    assert "as in TensorFlow: 3 (vgg) to 4 (alexnet). Setting" in both
    without = of(folder, "fathom-2", op_rows=False).sentence
    assert "as in TensorFlow" not in without


def test_heat_map_is_ordered_by_class(everything):
    classes = list(dict.fromkeys(everything["fathom-3"].data.op_class))
    assert (
        classes
        == palette.in_order(classes)
        == [name for name in palette.CLASS_COLOURS if name in classes]
    )


def test_heat_map_shows_shares_of_the_step(everything):
    data = everything["fathom-3"].data.set_index(["type", "workload"]).share_pct
    assert data["conv2d", "vgg"] == pytest.approx(70)
    assert data["framework", "memnet"] == pytest.approx(20), "views plus the time between ops"


def test_heat_map_mentions_small_op_types_that_it_leaves_out(folder):
    name = made_up.step_name("vgg") + "/op:tanh"
    small = made_up.row(name, 10, "elementwise", pct_of_step=0.01, calls_per_step=1)
    figure = of(folder, "fathom-3", extra=[small])
    assert "tanh" not in set(figure.data.type)
    assert "1 op type below 1 % in every step is left out" in figure.sentence


def test_groups_of_similar_workloads_are_found(everything):
    data = everything["fathom-4"].data.drop_duplicates("workload")
    groups = [set(one.workload) for _, one in data.groupby("group")]
    assert sorted(map(sorted, groups)) == sorted(map(sorted, made_up.GROUPS))
    assert "form 3 groups" in everything["fathom-4"].sentence


def test_two_workloads_have_one_distance(folder):
    figure = of(folder, "fathom-4", workloads=("alexnet", "vgg"))
    assert "are one group: " in figure.sentence and "Their distance is 0.01" in figure.sentence


def test_one_workload_has_no_similarity_figure(folder):
    assert isinstance(of(folder, "fathom-4", workloads=("vgg",)), Missing)


@pytest.mark.parametrize("columns, words", [(8, "0.00 0.10 1.00"), (16, "0 .10 1")])
def test_distances_are_short_where_there_are_many(columns, words):
    assert " ".join(cell_words(one, columns) for one in (0.004, 0.1, 1)) == words


def test_times_are_relative_to_training_on_one_thread(everything):
    data = everything["fathom-5"].data
    rows = data[data.workload == "vgg"].set_index(["mode", "device", "threads"]).relative
    assert rows["train", "cpu", 1] == 1
    assert rows["infer", "cpu", 1] == pytest.approx(made_up.INFER)
    assert rows["train", "cuda", 1] == pytest.approx(made_up.GPU)
    assert rows["train", "cpu", 8] == pytest.approx(made_up.step_us("vgg", 8) / 100_000)
    assert (
        rows.index.get_level_values("threads") != 2
    ).all(), "only one thread and the most threads"


def test_a_missing_gpu_is_mentioned(folder, everything):
    assert "the run has no rows of a GPU" in of(folder, "fathom-5").sentence
    assert (
        "the speedup of training on the GPU over one CPU thread is 10 (all 5)"
        in everything["fathom-5"].sentence
    )


def test_a_run_without_fp32_has_figure_5_in_its_own_format(folder):
    steps = made_up.step("vgg", profile=False) + made_up.step("vgg", "infer", profile=False)
    document = {"context": made_up.context(), "benchmarks": in_format("bf16", steps, 0.5)}
    figure = figures(load(folder, document))["fathom-5"]
    assert set(figure.data.precision) == {"bf16"} and figure.sentence.endswith("Setting: bf16.")


def test_figures_5_and_6_say_which_steps_their_speedups_are_of(everything):
    assert "; with up to 8 threads, the speedup of timed training steps is " in (
        everything["fathom-5"].sentence
    )
    words = everything["fathom-6"].sentence
    assert words.startswith("From 1 thread to 8, the speedup of profiled training steps is ")
    assert ", by the sum of their op types (Fig. 5 shows timed steps)" in words


def test_scaling_laws_are_fitted(everything):
    data = everything["fathom-6"].data.drop_duplicates(["workload", "type"])
    data = data.set_index(["workload", "type"])
    for op_type in ("conv2d", "matmul", "momentum"):
        row = data.loc["vgg", op_type]
        assert row.amdahl_serial_pct == pytest.approx(100 * made_up.SERIAL[op_type], abs=0.1)
    sigma, kappa = made_up.CONTENTION["memnet", "mul"]
    assert data.usl_sigma["memnet", "mul"] == pytest.approx(sigma, abs=1e-3)
    assert data.usl_kappa["memnet", "mul"] == pytest.approx(kappa, abs=1e-3)
    best = ((1 - sigma) / kappa) ** 0.5
    assert data.usl_best_threads["memnet", "mul"] == pytest.approx(best, rel=0.05)


def test_the_largest_op_type_at_more_threads_is_named(everything):
    sentence = everything["fathom-6"].sentence
    assert (
        "Extrapolated to 16 threads, the largest op type is conv2d in alexnet and vgg;" in sentence
    )
    assert "framework in memnet" in sentence


def test_two_thread_counts_fit_no_law(folder):
    figure = of(folder, "fathom-6", threads=(1, 2))
    assert "2 thread counts are too few for a fit" in figure.sentence
    assert "framework in speech has the smallest speedup, 1." in figure.sentence
    assert figure.data.amdahl_serial_pct.isna().all()


def test_a_speedup_above_the_number_of_threads_is_mentioned(folder):
    document = made_up.document(workloads=("vgg",), threads=(1, 2))
    for row in document["benchmarks"]:
        if "/threads:1/" in row["name"] and "/op:" in row["name"]:
            row["real_time"] *= 1.2
    sentence = figures(load(folder, document))["fathom-6"].sentence
    assert "(more than 2 in vgg: one of the times may be disturbed)" in sentence


def test_three_thread_counts_fit_only_amdahls_law(folder):
    data = of(folder, "fathom-6", threads=(1, 2, 4)).data
    assert data.amdahl_serial_pct.notna().all() and data.usl_sigma.isna().all()


def test_one_thread_count_is_missing(folder):
    assert isinstance(of(folder, "fathom-6"), Missing)
