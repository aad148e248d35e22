"""Our own figures, from made-up runs with known results."""

import json

import made_up_backends
import made_up_run as made_up
import pytest
from made_up_figures import drawn, everything, figures, folder, load, of, with_backends, without

from fathom_page.figure import Missing


def test_roof_comes_from_the_context(everything):
    data = everything["ours-1"].data
    conv = data[(data.type == "conv2d") & (data.workload == "vgg")].iloc[0]
    assert conv.flops_per_byte == pytest.approx(made_up.INTENSITY)
    assert conv.attainable_flops == pytest.approx(made_up.PEAK_FLOPS)
    assert conv.pct_of_roof == pytest.approx(60)
    assert "The ridge point is 5 FLOPs per byte" in everything["ours-1"].sentence


def test_ops_above_the_roof_are_mentioned(folder):
    name = made_up.op_name("mul", "vgg", "cached")
    row = made_up.row(name, 5, flops=5e9, bytes=60e9, calls_per_model_step=1, in_steps=1)
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


def test_libtorch_on_packed_weights_is_no_other_backend(folder):
    document = made_up.document(("vgg",))
    figure = figures(load(folder, with_backends(document)))
    packed = [
        made_up.row(made_up.op_name(op_type, "vgg", layer, "torch_packed"), 0.01)
        for op_type in ("conv2d", "relu")
        for layer in ("first", "second")
    ]
    document["benchmarks"] += packed
    found = figures(load(folder, with_backends(document)))
    for name in ("ours-2", "ours-5"):
        assert found[name].data.equals(figure[name].data)


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


def test_on_a_gpu_the_sum_counts_launches_twice(folder, everything):
    on_cpu = json.dumps(made_up.document(workloads=("memnet",)))
    document = json.loads(on_cpu.replace("/device:cpu/", "/device:cuda/"))
    launches = "An op timed separately includes its launch"
    assert launches in figures(load(folder, document))["ours-4"].sentence
    assert launches not in everything["ours-4"].sentence


def test_op_types_without_rows_are_a_part(folder):
    document = without(made_up.document(workloads=("vgg",)), "op/relu/")
    data = figures(load(folder, document))["ours-4"].data
    parts = data[data["mode"] == "train"].set_index("part").pct_of_step
    assert parts["ops without rows"] == pytest.approx(10)


def shares(figure, workload, mode="train"):
    """Percent of the time on torch, by kernels."""
    data = figure.data[(figure.data.workload == workload) & (figure.data["mode"] == mode)]
    return data.set_index("kernels").pct_of_torch.to_dict()


def test_steps_on_other_backends_are_shares_of_the_step_on_torch(everything):
    found = shares(everything["ours-5"], "vgg", "infer")
    assert list(found) == ["torch", "onednn", "tuned", "fastest ops", "FMA limit"]
    assert found["torch"] == 100
    assert (found["onednn"], found["tuned"]) == pytest.approx((90, 60))
    step = everything["ours-5"].data.set_index(["workload", "mode", "kernels"]).us
    assert step["vgg", "train", "torch"] == pytest.approx(made_up.step_us("vgg", threads=8))


def test_the_fastest_ops_and_the_limit(folder):
    found = shares(
        figures(load(folder, with_backends(made_up.document(("vgg",)))))["ours-5"], "vgg"
    )
    # Without the 0.5 % between ops. Convolutions and products take 85 % of the step, the vendor half of that.
    assert found["fastest ops"] == pytest.approx((85 * made_up.BEST + 14.5) / made_up.IN_STEP)
    flops = 0.3 * made_up.PEAK_FLOPS * made_up.step_us("vgg") / 1e6
    limit_us = 1e6 * flops / made_up.PEAK_FLOPS
    assert found["FMA limit"] == pytest.approx(100 * limit_us / made_up.step_us("vgg"))


def test_the_geometric_mean_over_the_steps_is_in_the_words(folder):
    document = made_up.document(("vgg", "alexnet"), modes=("train",))
    fast, slow = (
        made_up_backends.on("tuned", made_up.step(workload, profile=False), share)
        for workload, share in (("vgg", 0.2), ("alexnet", 0.8))
    )
    onednn = made_up_backends.on("onednn", made_up.step("vgg", profile=False), 1.25)
    document["benchmarks"] += fast + slow + onednn
    sentence = figures(load(folder, document))["ours-5"].sentence
    assert (
        "On tuned, 2 steps take 40 % of their time on torch (geometric mean): 20 % (vgg/train) to 80 % "
        "(alexnet/train)." in sentence
    )
    assert "On onednn, vgg/train takes 125 % of its time on torch." in sentence
    assert sentence.endswith("Setting: CPU, 1 thread, fp32.")


def test_a_library_of_the_user_is_a_backend(folder):
    document = with_backends(made_up.document(("vgg",)), {"mine": 0.7, "tuned": 0.6})
    figure = figures(load(folder, document))["ours-5"]
    assert list(shares(figure, "vgg"))[:3] == ["torch", "tuned", "mine"]
    assert "On mine, 2 steps take 70 % of their time on torch" in figure.sentence
    assert b"mine" in drawn(figure)


def test_steps_on_other_backends_use_the_most_threads(folder):
    figure = figures(load(folder, with_backends(made_up.document(("vgg",), threads=(1, 2)))))
    assert figure["ours-5"].sentence.endswith("Setting: CPU, 2 threads, fp32.")


def test_only_steps_at_the_same_setting_and_batch_are_compared(folder):
    document = made_up.document(("vgg", "alexnet"), threads=(1, 2), scales=(1, 2))
    for row in (*made_up.step("vgg", threads=4), *made_up.step("alexnet", scale=4)):
        document["benchmarks"] += made_up_backends.on_all([row])
    assert isinstance(figures(load(folder, document))["ours-5"], Missing)
    document["benchmarks"] += made_up_backends.on_all(made_up.step("vgg", threads=2))
    data = figures(load(folder, document))["ours-5"].data
    assert set(zip(data.workload, data["mode"], data.batch)) == {("vgg", "train", 8)}


def test_steps_of_a_workload_are_together(folder):
    document = with_backends(made_up.document(("vgg", "alexnet")))
    document["benchmarks"].sort(key=lambda row: "/train/" in row["name"])
    data = figures(load(folder, document))["ours-5"].data
    order = list(dict.fromkeys(data.workload + "/" + data["mode"]))
    assert order == ["vgg/train", "vgg/infer", "alexnet/train", "alexnet/infer"]


def test_without_other_backends_the_command_is_named(folder):
    missing = of(folder, "ours-5")
    assert isinstance(missing, Missing)
    assert "--fathom_backend=torch,onednn,tuned" in missing.needs


NO_SUM = "is left out: it needs op rows of this setting for 90 % of the step, and its profile"


def test_ops_at_another_thread_count_are_not_added_up(folder):
    document = made_up.document(("vgg",), threads=(2,), op_rows=False)
    document["benchmarks"] += made_up.ops("vgg", threads=1)
    figure = figures(load(folder, with_backends(document)))["ours-5"]
    assert "fastest ops" not in shares(figure, "vgg")
    assert (
        f"The sum of the fastest ops {NO_SUM} (--fathom_profile). The FMA limit" in figure.sentence
    )


@pytest.mark.parametrize("lost", ["op/conv2d/vgg/first/", "op/relu/vgg/", "op types"])
def test_ops_that_do_not_cover_the_step_are_not_added_up(folder, lost):
    """Half of the convolutions are 41 % of the FLOPs, relu 10 % of the step: more than 10 % of its time in ops."""
    document = with_backends(made_up.document(("vgg", "alexnet"), modes=("train",)))
    document["benchmarks"] = [
        row
        for row in document["benchmarks"]
        if not row["name"].startswith(lost)
        and not (lost == "op types" and row["name"].startswith("vgg/") and "/op:" in row["name"])
    ]
    figure = figures(load(folder, document))["ours-5"]
    assert "fastest ops" in shares(figure, "alexnet")
    assert "fastest ops" not in shares(figure, "vgg")
    assert f"The sum of the fastest ops of vgg/train {NO_SUM}" in figure.sentence


def test_without_a_peak_there_is_no_limit(folder):
    document = with_backends(made_up.document(("vgg",)))
    for row in document["benchmarks"]:
        row.pop("flops_pct_peak", None)
    figure = figures(load(folder, document))["ours-5"]
    assert "FMA limit" not in shares(figure, "vgg") and "limit" not in figure.sentence
    drawn(figure)
