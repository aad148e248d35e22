"""Our own figures, from made-up runs with known results."""

import made_up_run as made_up
import pytest
from made_up_figures import everything, figures, folder, load, of, without

from fathom_report.figure import Missing


def test_roof_comes_from_the_context(everything):
    data = everything["ours-1"].data
    conv = data[(data.type == "conv2d") & (data.workload == "vgg")].iloc[0]
    assert conv.flops_per_byte == pytest.approx(made_up.INTENSITY)
    assert conv.attainable_flops == pytest.approx(made_up.PEAK_FLOPS)
    assert conv.pct_of_roof == pytest.approx(60)
    assert "The ridge point is 5 FLOPs per byte" in everything["ours-1"].sentence


def test_ops_above_the_roof_are_mentioned(folder):
    name = made_up.op_name("mul", "vgg", "cached")
    row = made_up.row(name, 5, flops=5e9, bytes=60e9, calls_per_model_step=1)
    sentence = of(folder, "ours-1", extra=[row]).sentence
    assert "1 shape (mul) is above the memory roof: data partly comes from caches" in sentence
    assert "1 of 17 op shapes is left of it" in sentence


def test_without_peaks_there_is_no_roof(folder):
    document = made_up.document()
    document["context"] = {k: v for k, v in document["context"].items() if "peak_" not in k}
    missing = figures(load(folder, document))["ours-1"]
    assert isinstance(missing, Missing) and "context" in missing.needs


def test_steps_without_all_of_their_ops_have_no_star(folder):
    document = without(made_up.document(workloads=("vgg",)), "op/conv2d/vgg/first")
    data = figures(load(folder, document))["ours-1"].data
    assert set(data.kind) == {"op"}


def test_tax_is_relative_to_the_fastest_backend(everything):
    data = everything["ours-2"].data.set_index(["workload", "mode", "type"])
    tax = data.in_step_us / data.fastest_kernels_us
    assert tax["vgg", "train", "conv2d"] == pytest.approx(made_up.IN_STEP / made_up.BEST)
    assert tax["vgg", "train", "relu"] == pytest.approx(made_up.IN_STEP)
    assert tax["vgg", "infer", "conv2d"] == pytest.approx(made_up.IN_STEP / made_up.BEST)


def test_largest_tax_is_named(everything):
    assert "The largest difference is conv2d in vgg/train: 42 ms" in everything["ours-2"].sentence


def test_cold_over_hot(everything):
    figure = everything["ours-3"]
    assert figure.data.cold_over_hot.to_numpy() == pytest.approx(made_up.COLD)
    assert "Hot, 4 shapes of mul exceed the measured memory bandwidth of 20 GB/s" in figure.sentence


def test_parts_add_up_to_the_step(everything):
    data = everything["ours-4"].data
    assert data.groupby(["workload", "mode"]).pct_of_step.sum().to_numpy() == pytest.approx(100)


def test_ops_time_between_ops_and_remainder(everything):
    data = everything["ours-4"].data
    memnet = data[(data.workload == "memnet") & (data["mode"] == "train")]
    parts = memnet.set_index("part").pct_of_step
    assert parts["between ops"] == pytest.approx(20)
    assert parts["elementwise"] == pytest.approx(30 / made_up.IN_STEP)
    assert parts["remainder"] == pytest.approx(80 - 80 / made_up.IN_STEP)


def test_op_types_without_rows_are_a_part(folder):
    document = without(made_up.document(workloads=("vgg",)), "op/relu/")
    data = figures(load(folder, document))["ours-4"].data
    parts = data[data["mode"] == "train"].set_index("part").pct_of_step
    assert parts["ops without rows"] == pytest.approx(10)
