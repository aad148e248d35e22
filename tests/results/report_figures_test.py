"""The figures of results/report, from made-up runs whose answers are known."""

import hashlib
import io

import made_up_run as made_up
import matplotlib.figure
import pytest

from fathom_page import marks, palette, style
from fathom_report import selection
from fathom_report import figures as all_figures
from fathom_report.figure import Missing
from fathom_report.run import read
from fathom_runs import words

KEYS = [f"fathom-{n}" for n in range(1, 7)] + [
    f"{who}-{n}" for who in ("tbd", "ours") for n in range(1, 5)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


def load(folder, document, samples=()):
    files = [made_up.write(folder / "run.json", document)]
    if samples:
        files.append(made_up.write(folder / "steps.jsonl", list(samples)))
    return read(files)


def figures(run):
    return {figure.key: figure for figure in all_figures.figures(run)}


@pytest.fixture(scope="module")
def everything(folder):
    samples = made_up.samples("alexnet") + made_up.samples("vgg", drift=0.3)
    return figures(load(folder, made_up.everything(), samples))


def of(folder, key, samples=(), **options):
    """One figure of a made-up document."""
    return figures(load(folder, made_up.document(**options), samples))[key]


def drawn(figure):
    canvas = matplotlib.figure.Figure()
    figure.draw(canvas)
    file = io.BytesIO()
    canvas.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def without(document, *starts):
    rows = [row for row in document["benchmarks"] if not row["name"].startswith(starts)]
    return document | {"benchmarks": rows}


# --- all figures


def test_all_figures_in_the_papers_order(everything):
    assert list(everything) == KEYS
    assert not [key for key, figure in everything.items() if isinstance(figure, Missing)]


@pytest.mark.parametrize("key", KEYS)
def test_says_one_thing_and_draws_it(everything, key):
    figure = everything[key]
    assert figure.sentence.endswith(".") and "nan" not in figure.sentence
    assert len(figure.data) > 0
    svg = drawn(figure)
    assert style.INK.encode() in svg
    assert b"#000000" not in svg, "text and axes are drawn in the ink alone"


def test_same_data_same_bytes(everything):
    for key in ("fathom-4", "ours-1"):
        hashes = {hashlib.sha256(drawn(everything[key])).hexdigest() for _ in range(2)}
        assert len(hashes) == 1


@pytest.mark.parametrize("key", KEYS)
def test_fits_a_page(everything, key):
    canvas = matplotlib.figure.Figure()
    everything[key].draw(canvas)
    assert canvas.get_size_inches()[0] <= 9
    texts = canvas.findobj(lambda one: isinstance(one, matplotlib.text.Text) and one.get_text())
    assert min(text.get_fontsize() for text in texts) >= 9


def test_names_what_is_missing(folder):
    row = made_up.row(made_up.step_name("vgg", "infer", threads=2), 5)
    found = figures(load(folder, {"context": made_up.context(), "benchmarks": [row]}))
    assert list(found) == KEYS
    assert all(isinstance(figure, Missing) and figure.needs for figure in found.values())


@pytest.mark.parametrize(
    "options",
    [
        {"workloads": ("vgg",)},
        {"workloads": ("vgg",), "threads": (1, 2), "scales": (1, 2), "memory": True, "cold": True},
        {"workloads": ("vgg", "memnet"), "threads": (4,), "modes": ("infer",)},
        {"workloads": ("vgg", "memnet"), "modes": ("train",), "gpu": True},
        {"threads": (1, 2, 4), "op_rows": False},
        {"profile": False, "cold": True},
        {"workloads": (), "op_rows": True},
    ],
)
def test_little_data_is_no_error(folder, options):
    document = made_up.document(**options)
    document["benchmarks"] += made_up.ops("vgg", threads=1)
    for figure in figures(load(folder, document)).values():
        if not isinstance(figure, Missing):
            assert "nan" not in figure.sentence
            drawn(figure)


def test_a_gpu_alone_is_no_error(folder):
    document = made_up.document(gpu=True, op_rows=False, scales=(1, 2))
    rows = [row for row in document["benchmarks"] if "/device:cuda/" in row["name"]]
    found = figures(load(folder, document | {"benchmarks": rows}))
    assert "GPU, fp32" in found["fathom-2"].sentence
    for figure in found.values():
        if not isinstance(figure, Missing):
            drawn(figure)


def test_classes_are_those_of_the_context(folder):
    classes = made_up.CATALOGUE["op_classes"].replace("conv2d:convolution", "conv2d:communication")
    found = figures(load(folder, made_up.document(op_classes=classes, cold=True)))
    for key in ("ours-1", "ours-3"):
        data = found[key].data
        assert set(data[data.type == "conv2d"].op_class) == {"communication"}
        assert set(data[data.type == "matmul"].op_class) == {"matrix"}
    assert "communication" in set(found["ours-4"].data.part)
    for key in ("ours-1", "ours-3", "ours-4"):
        assert b"communication" in drawn(found[key]), "a class that Fathom does not have"


# --- Fathom


def test_drift_is_found_and_named(everything):
    figure = everything["fathom-1"]
    one = figure.data.drop_duplicates(["workload", "type"]).set_index(["workload", "type"])
    assert one.drifts["vgg", "conv2d"] and not one.drifts["alexnet", "conv2d"]
    assert "3 drift: vgg's conv2d (rising)" in figure.sentence


def test_samples_of_steps_stand_in_for_those_of_op_types(folder):
    name = made_up.step_name("vgg") + "/process_time/real_time"
    lines = [
        f'{{"name": "{name}", "repetition": 0, "step": {n}, "us": {100 + n % 2}}}'
        for n in range(12)
    ]
    figure = of(folder, "fathom-1", lines, workloads=("vgg",))
    assert figure.sentence.startswith("vgg over 12 steps: it does not drift")


def test_short_series_are_not_counted_as_steady(folder):
    samples = made_up.samples("alexnet", steps=4) + made_up.samples("vgg", steps=40)
    figure = of(folder, "fathom-1", samples, workloads=("alexnet", "vgg"))
    assert ": none of the 3 with 10 steps or more drifts" in figure.sentence


def test_few_samples_say_nothing_about_drift(folder):
    figure = of(folder, "fathom-1", made_up.samples("vgg", steps=4), workloads=("vgg",))
    assert "too few to look for drift" in figure.sentence


def test_types_add_up_to_the_time_in_ops(everything):
    data = everything["fathom-2"].data
    alexnet = data[data.workload == "alexnet"]
    assert list(alexnet.type) == ["conv2d", "matmul", "relu", "dropout", "momentum"]
    assert alexnet.cumulative_pct.iloc[0] == pytest.approx(100 * 6000 / 9900)
    assert alexnet.cumulative_pct.iloc[-1] == pytest.approx(100)


def test_counts_types_up_to_90_percent(folder):
    assert of(folder, "fathom-2").sentence.startswith(
        "2 to 3 op types take 90 % of the time in ops of 5"
    )
    alone = of(folder, "fathom-2", workloads=("alexnet",))
    assert alone.sentence.startswith("3 op types of 5 take 90 % of alexnet's time in ops")


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
    assert data["framework", "memnet"] == pytest.approx(20), "views and the time between ops"


def test_heat_map_leaves_small_types_out_and_says_so(folder):
    name = made_up.step_name("vgg") + "/op:tanh"
    small = made_up.row(name, 10, "elementwise", pct_of_step=0.01, calls_per_step=1)
    figure = of(folder, "fathom-3", extra=[small])
    assert "tanh" not in set(figure.data.type)
    assert "1 type below 1 % in every step is left out" in figure.sentence


def test_groups_are_found(everything):
    data = everything["fathom-4"].data.drop_duplicates("workload")
    groups = [set(one.workload) for _, one in data.groupby("group")]
    assert sorted(map(sorted, groups)) == sorted(map(sorted, made_up.GROUPS))
    assert "form 3 groups" in everything["fathom-4"].sentence


def test_two_workloads_have_one_distance(folder):
    figure = of(folder, "fathom-4", workloads=("alexnet", "vgg"))
    assert "are one group: " in figure.sentence and "Their distance is 0.01" in figure.sentence


def test_one_workload_is_like_none(folder):
    assert isinstance(of(folder, "fathom-4", workloads=("vgg",)), Missing)


def test_normalises_to_training_on_one_thread(everything):
    data = everything["fathom-5"].data
    rows = data[data.workload == "vgg"].set_index(["mode", "device", "threads"]).relative
    assert rows["train", "cpu", 1] == 1
    assert rows["infer", "cpu", 1] == pytest.approx(made_up.INFER)
    assert rows["train", "cuda", 1] == pytest.approx(made_up.GPU)
    assert rows["train", "cpu", 8] == pytest.approx(made_up.step_us("vgg", 8) / 100_000)
    assert (rows.index.get_level_values("threads") != 2).all(), "between one and the most"


def test_says_that_there_is_no_gpu(folder, everything):
    assert "there are no rows of a GPU" in of(folder, "fathom-5").sentence
    assert (
        "the GPU speeds training up over one CPU thread 10 times (all 5)"
        in everything["fathom-5"].sentence
    )


def test_laws_are_found(everything):
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


def test_what_limits_next_is_named(everything):
    sentence = everything["fathom-6"].sentence
    assert "at 16 threads by these fits: conv2d in alexnet and vgg;" in sentence
    assert "framework in memnet" in sentence


def test_two_thread_counts_fit_no_law(folder):
    figure = of(folder, "fathom-6", threads=(1, 2))
    assert "2 thread counts are too few to fit laws" in figure.sentence
    assert "framework in speech gains least, 1 times" in figure.sentence
    assert figure.data.amdahl_serial_pct.isna().all()


def test_three_thread_counts_fit_amdahl_alone(folder):
    data = of(folder, "fathom-6", threads=(1, 2, 4)).data
    assert data.amdahl_serial_pct.notna().all() and data.usl_sigma.isna().all()


def test_one_thread_count_is_missing(folder):
    assert isinstance(of(folder, "fathom-6"), Missing)


def test_variants_only_stand_in(folder):
    rows = made_up.step("vgg")
    for row in rows:
        row["name"] = row["run_name"] = row["name"].replace("vgg/", "vgg_repo/")
    beside = of(folder, "fathom-2", extra=rows)
    assert "vgg_repo" not in set(beside.data.workload)
    alone = of(folder, "fathom-2", workloads=("alexnet",), extra=rows)
    assert set(alone.data.workload) == {"alexnet", "vgg_repo"}


def test_a_name_with_an_underscore_is_no_variant(folder):
    rows = made_up.step("vgg")
    for row in rows:
        row["name"] = row["run_name"] = row["name"].replace("vgg/", "vgg_v3/")
    figure = of(folder, "fathom-2", extra=rows)
    assert {"vgg", "vgg_v3"} < set(figure.data.workload)


@pytest.mark.parametrize("batch", [4, 8, 16])
def test_of_several_batch_sizes_the_default_of_the_context_counts(folder, batch):
    batches = made_up.CATALOGUE["default_batches"].replace("vgg/train:8", f"vgg/train:{batch}")
    document = made_up.document(("vgg",), scales=(0.5, 1, 2), default_batches=batches)
    run = load(folder, document)
    table, _ = selection.training_types(run)
    assert set(table.batch) == {batch}


# --- TBD


def test_throughput_grows_by_the_fixed_half(everything):
    data = everything["tbd-1"].data
    rates = (
        data[(data.workload == "vgg") & (data.device == "cpu")].set_index("batch").items_per_second
    )
    assert rates[16] / rates[4] == pytest.approx(2)
    assert "training throughput grows 2 times (all 5)" in everything["tbd-1"].sentence


def test_throughput_that_stops_growing_is_named(folder):
    rows = [
        made_up.row(made_up.step_name("vgg", batch=batch), batch * 1e3, items_per_second=1e3)
        for batch in (16, 32)
    ]
    figure = of(folder, "tbd-1", workloads=("alexnet",), scales=(1, 2), extra=rows)
    assert "The last doubling brings less than 10 % in vgg." in figure.sentence


def test_one_batch_size_is_missing(folder):
    assert isinstance(of(folder, "tbd-1"), Missing)
    assert isinstance(of(folder, "tbd-2"), Missing)


def test_utilisation_is_of_all_threads(everything):
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
    assert "most of it holds features in alexnet" in everything["tbd-3"].sentence


def test_memory_of_one_batch_is_shown(folder):
    figure = of(folder, "tbd-3", workloads=("vgg",), memory=True)
    assert "one more sample" not in figure.sentence
    assert set(figure.data.batch) == {8}


def test_ops_below_the_average_only(everything):
    data = everything["tbd-4"].data
    assert (data.pct_of_peak < data.step_flops_pct_peak).all()
    assert "conv2d" not in set(data.type), "they reach 60 %, the steps 30"
    softmax = data[(data.workload == "memnet") & (data.type == "softmax")].iloc[0]
    assert softmax.us_per_step == pytest.approx(made_up.CALLS * 200 / 8 / made_up.IN_STEP)
    assert softmax.peak == "bytes" and softmax.pct_of_peak == pytest.approx(20)


def test_all_ops_above_the_average_is_nothing_to_show(folder):
    missing = of(folder, "tbd-4", workloads=("vgg",))
    assert isinstance(missing, Missing) and "none" in missing.needs


# --- ours


def test_roof_comes_from_the_context(everything):
    data = everything["ours-1"].data
    conv = data[(data.type == "conv2d") & (data.workload == "vgg")].iloc[0]
    assert conv.flops_per_byte == pytest.approx(made_up.INTENSITY)
    assert conv.attainable_flops == pytest.approx(made_up.PEAK_FLOPS)
    assert conv.pct_of_roof == pytest.approx(60)
    assert "bends at 5 FLOPs a byte" in everything["ours-1"].sentence


def test_ops_above_the_roof_are_told(folder):
    name = made_up.op_name("mul", "vgg", "cached")
    row = made_up.row(name, 5, flops=5e9, bytes=60e9, calls_per_model_step=1)
    sentence = of(folder, "ours-1", extra=[row]).sentence
    assert "1 shape (mul) lies above the roof" in sentence
    assert "1 of 17 op shapes lies left of it" in sentence


def test_no_peaks_no_roof(folder):
    document = made_up.document()
    document["context"] = {k: v for k, v in document["context"].items() if "peak_" not in k}
    missing = figures(load(folder, document))["ours-1"]
    assert isinstance(missing, Missing) and "context" in missing.needs


def test_steps_whose_ops_are_not_all_there_have_no_star(folder):
    document = without(made_up.document(workloads=("vgg",)), "op/conv2d/vgg/first")
    data = figures(load(folder, document))["ours-1"].data
    assert set(data.kind) == {"op"}


def test_tax_is_over_the_fastest_backend(everything):
    data = everything["ours-2"].data.set_index(["workload", "mode", "type"])
    tax = data.in_step_us / data.fastest_alone_us
    assert tax["vgg", "train", "conv2d"] == pytest.approx(made_up.IN_STEP / made_up.BEST)
    assert tax["vgg", "train", "relu"] == pytest.approx(made_up.IN_STEP)
    assert tax["vgg", "infer", "conv2d"] == pytest.approx(made_up.IN_STEP / made_up.BEST)


def test_largest_tax_is_named(everything):
    assert (
        "The largest tax on a step is conv2d in vgg/train: 42 ms" in everything["ours-2"].sentence
    )


def test_cold_over_hot(everything):
    figure = everything["ours-3"]
    assert figure.data.cold_over_hot.to_numpy() == pytest.approx(made_up.COLD)
    assert "4 shapes of mul run hot above the measured bandwidth of 20 GB/s" in figure.sentence


def test_parts_add_up_to_the_step(everything):
    data = everything["ours-4"].data
    assert data.groupby(["workload", "mode"]).pct_of_step.sum().to_numpy() == pytest.approx(100)


def test_ops_alone_between_and_remainder(everything):
    data = everything["ours-4"].data
    memnet = data[(data.workload == "memnet") & (data["mode"] == "train")]
    parts = memnet.set_index("part").pct_of_step
    assert parts["between ops"] == pytest.approx(20)
    assert parts["elementwise"] == pytest.approx(30 / made_up.IN_STEP)
    assert parts["remainder"] == pytest.approx(80 - 80 / made_up.IN_STEP)


def test_ops_without_rows_are_a_part(folder):
    document = without(made_up.document(workloads=("vgg",)), "op/relu/")
    data = figures(load(folder, document))["ours-4"].data
    parts = data[data["mode"] == "train"].set_index("part").pct_of_step
    assert parts["ops without rows"] == pytest.approx(10)


def test_our_kernel_is_what_the_step_runs(folder):
    fast = made_up.row(made_up.op_name("relu", "vgg", "first", "native"), 1, calls_per_model_step=4)
    run = load(folder, made_up.document(workloads=("vgg",), extra=[fast]))
    ops = selection.as_the_step_runs(run.ops)
    relu = ops[ops.type == "relu"].set_index("layer").backend
    assert dict(relu) == {"first": "native", "second": "torch"}


def test_rows_say_whose_code_the_step_runs(folder):
    document = made_up.document(workloads=("vgg",))
    for row in document["benchmarks"]:
        if row["name"].startswith("op/relu/") and "backend:torch" in row["name"]:
            row["in_steps"] = 1
    fast = made_up.row(made_up.op_name("relu", "vgg", "first", "native"), 1, calls_per_model_step=4)
    run = load(folder, document | {"benchmarks": [*document["benchmarks"], fast]})
    ops = selection.as_the_step_runs(run.ops)
    assert set(ops[ops.type == "relu"].backend) == {"torch"}


# --- words


@pytest.mark.parametrize(
    "names, text",
    [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")],
)
def test_lists(names, text):
    assert words.listed(names) == text


def test_long_lists_are_cut():
    assert words.listed("abcdef", most=3) == "a, b, c and 3 others"
    assert words.listed("abcd", most=3) == "a, b, c and d", "one other has a name"


@pytest.mark.parametrize(
    "us, text", [(0.5, "0.5 µs"), (999, "999 µs"), (1500, "1.5 ms"), (2.5e6, "2.5 s")]
)
def test_times_have_units(us, text):
    assert words.time_words(us) == text


def test_spread_moves_no_more_than_it_must():
    assert marks.spread([0.0, 0.5, 1.0], 0.1).tolist() == [0.0, 0.5, 1.0]
    assert marks.spread([0.5, 0.5], 0.1) == pytest.approx([0.45, 0.55])
    assert marks.spread([0.9, 0.1, 0.1], 0.2) == pytest.approx([0.9, 0.0, 0.2])
