"""TBD's figures, from made-up runs with known results."""

import made_up_run as made_up
import pytest
from made_up_figures import everything, folder, of

from fathom_report.figure import Missing


def test_throughput_doubles_with_the_batch(everything):
    data = everything["tbd-1"].data
    rates = (
        data[(data.workload == "vgg") & (data.device == "cpu")].set_index("batch").items_per_second
    )
    assert rates[16] / rates[4] == pytest.approx(2)
    assert "training throughput is multiplied by 2 (all 5)" in everything["tbd-1"].sentence


def test_saturated_throughput_is_named(folder):
    rows = [
        made_up.row(made_up.step_name("vgg", batch=batch), batch * 1e3, items_per_second=1e3)
        for batch in (16, 32)
    ]
    figure = of(folder, "tbd-1", workloads=("alexnet",), scales=(1, 2), extra=rows)
    assert "The last doubling adds less than 10 % in vgg." in figure.sentence


def test_one_batch_size_is_missing(folder):
    assert isinstance(of(folder, "tbd-1"), Missing)
    assert isinstance(of(folder, "tbd-2"), Missing)


def test_utilisation_uses_the_most_threads(everything):
    data = everything["tbd-2"].data
    on_cpu = data[data.device == "cpu"]
    assert set(on_cpu.threads) == {8}
    assert list(on_cpu.cpu_pct.round(2).unique()) == [56.25]  # 4.5 busy cores of 8
    assert on_cpu.gpu_busy_pct.isna().all()
    assert set(data[(data.workload == "speech") & (data.device == "cuda")].gpu_busy_pct) == {
        56,
        72,
        100,
    }


def test_memory_adds_up_to_the_peak(everything):
    data = everything["tbd-3"].data
    sums = data.groupby(["workload", "batch"]).share_pct.sum()
    assert sums.to_numpy() == pytest.approx(100)
    sizes = data[(data.workload == "vgg") & (data.memory_class == "features")].set_index("batch")
    assert sizes.at_peak_bytes[16] == 4 * sizes.at_peak_bytes[4]
    assert "the largest class is features in alexnet" in everything["tbd-3"].sentence


def test_memory_of_one_batch_is_shown(folder):
    figure = of(folder, "tbd-3", workloads=("vgg",), memory=True)
    assert "each further sample" not in figure.sentence
    assert set(figure.data.batch) == {8}


def test_only_ops_below_the_average_are_shown(everything):
    data = everything["tbd-4"].data
    assert (data.pct_of_peak < data.step_flops_pct_peak).all()
    assert "conv2d" not in set(data.type), "they reach 60 %, the steps 30"
    softmax = data[(data.workload == "memnet") & (data.type == "softmax")].iloc[0]
    assert softmax.us_per_step == pytest.approx(made_up.CALLS * 200 / 8 / made_up.IN_STEP)
    assert softmax.peak == "bytes" and softmax.pct_of_peak == pytest.approx(20)


def test_without_ops_below_the_average_the_figure_is_missing(folder):
    missing = of(folder, "tbd-4", workloads=("vgg",))
    assert isinstance(missing, Missing) and "none" in missing.needs
