"""TBD's figures, from made-up runs with known results."""

import made_up_ranks
import made_up_run as made_up
import pytest
from made_up_figures import drawn, everything, figures, folder, load, of

from fathom_page.figure import Missing
from fathom_report.run import read


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


# --- ranks


def with_ranks(folder, rows):
    document = made_up.document(("vgg", "memnet"), op_rows=False)
    document["benchmarks"] += rows
    return figures(load(folder, document))["tbd-5"]


def test_the_prediction_adds_the_reductions_that_the_backward_pass_does_not_hide(folder):
    figure = with_ranks(folder, made_up_ranks.rows(("vgg", "memnet")))
    one = figure.data.set_index(["workload", "ranks"]).loc["vgg", 2]
    # 2 * (250 + 750) us in the two buckets, of which 2 * 400 are hidden.
    assert (one.all_reduce_us, one.overlapped_us) == (2000, 800)
    assert (one.measured_us, one.predicted_us) == (12_000, 11_200)
    assert one.predicted_over_measured == pytest.approx(11.2 / 12)
    assert one.exposed_pct == pytest.approx(100 / 6)
    assert one.predicted_exposed_pct == pytest.approx(100 * 1.2 / 11.2)


def test_throughput_and_exposed_time_are_in_the_words(folder):
    figure = with_ranks(folder, made_up_ranks.rows(("vgg", "memnet")))
    # 4 ranks in 14 ms against 1 rank in 11 ms; predicted are 12.4 and 10.6 ms.
    assert figure.sentence == (
        "From 1 rank to 4, training throughput is multiplied by 3.14 (both); with 4 ranks, exposed communication "
        "takes 29 % (both) of the step. The prediction, the local step plus the part of its buckets' op rows that the "
        "backward pass does not hide, is 0.886 (vgg, 4 ranks) to 0.964 (memnet, 1 rank) times the measured step. "
        "Setting of each rank: CPU, 1 thread, fp32."
    )
    assert b"predicted" in drawn(figure)


def test_a_hidden_reduction_costs_nothing(folder):
    rows = [made_up_ranks.step("vgg", 2, overlapped_us=5000), *made_up_ranks.collectives("vgg", 2)]
    one = with_ranks(folder, rows).data.iloc[0]
    assert one.predicted_us == made_up_ranks.LOCAL_US and one.predicted_exposed_pct == 0


def test_without_a_median_the_mean_is_the_measured_step(folder):
    row = made_up_ranks.step("vgg", 2)
    del row["p50_us"]
    assert with_ranks(folder, [row]).data.measured_us[0] == pytest.approx(12_240)


@pytest.mark.parametrize(
    "counters, lost",
    [
        ({}, "all_reduce/vgg/bucket1"),
        ({"buckets": 3}, "none"),
        ({"gradient_bytes": 5e6}, "none"),
        ({}, "all_reduce"),
    ],
)
def test_other_buckets_give_no_prediction(folder, counters, lost):
    ops = [row for row in made_up_ranks.collectives("vgg", 2) if lost not in row["name"]]
    figure = with_ranks(folder, [made_up_ranks.step("vgg", 2, **counters), *ops])
    assert figure.data.predicted_us.isna().all() and figure.data.exposed_pct.notna().all()
    assert figure.sentence.startswith("With 2 ranks, exposed communication takes 17 % (vgg)")
    assert "1 step has no prediction, which needs the file's rows op/all_reduce" in figure.sentence
    drawn(figure)


def test_rows_of_mpi_are_no_part_of_the_prediction(folder):
    rows = [made_up_ranks.step("vgg", 2), *made_up_ranks.collectives("vgg", 2)]
    mpi = made_up_ranks.collective("all_reduce", "vgg", "bucket0", 2, 9000, 1e6, backend="mpi")
    assert with_ranks(folder, [*rows, mpi]).data.all_reduce_us[0] == 2000


def test_op_rows_of_another_device_do_not_count(folder):
    rows = [made_up_ranks.step("vgg", 2), *made_up_ranks.collectives("vgg", 2)]
    for one in made_up_ranks.collectives("vgg", 2):
        name = one["name"].replace("device:cpu", "device:cuda").replace(":gloo", ":nccl")
        rows.append(one | {"name": name, "run_name": name})
    assert with_ranks(folder, rows).data.all_reduce_us[0] == 2000


def test_op_rows_of_other_ranks_give_no_prediction(folder):
    rows = [made_up_ranks.step("vgg", 2), *made_up_ranks.collectives("vgg", 4)]
    assert with_ranks(folder, rows).data.predicted_us.isna().all()


def test_each_file_is_a_network(folder):
    fast = made_up.document(("vgg",), op_rows=False, extra=made_up_ranks.rows(("vgg",)))
    slow = made_up.document((), extra=[made_up_ranks.step("vgg", 2, exposed_us=6000)], ranks="2")
    files = [
        made_up.write(folder / name, one)
        for name, one in (("loopback.json", fast), ("gbit.json", slow))
    ]
    run = read(files)
    assert run.notes == ()
    figure = figures(run)["tbd-5"]
    data = figure.data.set_index(["file", "ranks"])
    assert list(data.index) == [("loopback", 1), ("loopback", 2), ("loopback", 4), ("gbit", 2)]
    assert data.exposed_pct["gbit", 2] == pytest.approx(50)
    assert data.predicted_us.isna().tolist() == [False, False, False, True]
    assert "loopback: from 1 rank to 4, " in figure.sentence
    assert "gbit: with 2 ranks, exposed communication takes 50 % (vgg) of" in figure.sentence
    assert b"gbit" in drawn(figure)


def test_files_of_the_same_name_have_their_folders_in_the_key(folder):
    files = []
    for name in ("fast", "slow"):
        (folder / name).mkdir()
        document = made_up.document((), extra=[made_up_ranks.step("vgg", 2)])
        files.append(made_up.write(folder / name / "run.json", document))
    data = figures(read(files))["tbd-5"].data
    assert list(data.file) == [str(folder / name / "run") for name in ("fast", "slow")]
    samples = made_up.write(folder / "fast/run.jsonl", made_up.samples("vgg"))
    assert list(figures(read([files[0], samples]))["tbd-5"].data.file) == ["run"]


def test_without_ranks_the_figure_is_missing(folder):
    missing = of(folder, "tbd-5")
    assert isinstance(missing, Missing) and "--fathom_ranks=1,2" in missing.needs
