"""The numbers of results/compare, from made-up runs of machines with known speed-ups."""

import math

import made_up_run as made_up
import numpy as np
import pandas as pd
import pytest
from made_up_backends import in_format
from made_up_pair import OTHER, document, write

from scipy import stats

from fathom_compare import headroom, interval, notes, op_shares, op_types, roofs, shares, sides
from fathom_compare import speedup
from fathom_compare.means import means, op_means, sentences
from fathom_compare.pairs import compare
from fathom_compare.selection import by_setting
from fathom_page.figure import Missing
from fathom_runs.peaks import Roof

WORKLOADS = tuple(made_up.PROFILES)
SPEEDS = dict(zip(WORKLOADS, (1.2, 1.5, 2, 2.5, 4)))  # of the other machine, by workload


def pair(folder, base, other):
    return compare(*sides.read(write(folder, a=base, b=other)), "")


def by_workload(name):
    return SPEEDS[name.split("/")[2 if name.startswith("op/") else 0]]


@pytest.fixture
def machines(tmp_path):
    """A machine, and one that is faster by SPEEDS."""
    options = {"workloads": WORKLOADS, "threads": (1, 2)}
    return pair(tmp_path, document(**options), document(by_workload, **options, **OTHER))


def of_step(table, workload, mode="train", threads=1):
    steps = table[(table.workload == workload) & (table["mode"] == mode)]
    (row,) = steps[steps.threads == threads].itertuples()
    return row


# --- speed-ups and their intervals


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_speed_up_is_the_ratio_of_the_times(machines, workload):
    row = of_step(machines.steps, workload)
    assert row.speedup == pytest.approx(SPEEDS[workload])
    assert row.change_pct == pytest.approx(100 * (1 / SPEEDS[workload] - 1))


def test_the_mean_is_geometric(machines):
    found = means(machines).set_index(["mode", "setting"]).loc[("training", "CPU, 1 thread")]
    assert found.speedup == pytest.approx(math.prod(SPEEDS.values()) ** (1 / len(SPEEDS)))
    assert (found.smallest_in, found.largest_in) == ("alexnet", "memnet")
    assert found.workloads == 5


def test_the_interval_of_a_mean_is_students(machines):
    found = means(machines).iloc[0]
    logs = np.log(list(SPEEDS.values()))
    half = 2.7764451 * logs.std(ddof=1) / math.sqrt(5)  # t of 4 degrees of freedom at 97.5 %
    assert (found.low, found.high) == pytest.approx(tuple(np.exp(logs.mean() + [-half, half])))


def test_two_workloads_have_no_interval():
    assert math.isnan(interval.geometric_mean([1, 2]).low)


def test_means_leave_out_variants_and_other_batches(tmp_path):
    extra = made_up.step("vgg", profile=False)
    extra = [
        row | {key: row[key].replace("vgg/", "vgg_repo/") for key in ("name", "run_name")}
        for row in extra
    ]
    options = {"workloads": WORKLOADS, "scales": (0.5, 1), "extra": extra}
    found = pair(
        tmp_path,
        document(**options),
        document(
            lambda name: 9 if "vgg_repo/" in name or "/batch:4/" in name else 2, **options, **OTHER
        ),
    )
    assert means(found).speedup.to_numpy() == pytest.approx(2)
    assert len(found.steps) == 21


def test_settings_are_in_the_order_of_the_formats(tmp_path):
    steps = made_up.step("vgg", profile=False)
    formats = ["int8w", "q4_0", "fp6", "bf16", "fp16"]
    rows = [one for name in formats for one in in_format(name, steps, 0.5)]
    documents = [document(extra=rows, workloads=("vgg",), **more) for more in ({}, OTHER)]
    found = [words for words, _ in by_setting(pair(tmp_path, *documents).steps)]
    order = ["bf16", "fp16", "int8w", "q4_0", "fp6"]
    assert found == ["CPU, 1 thread", *(f"CPU, 1 thread, {one}" for one in order)]


def test_the_mean_of_ops_is_over_the_shapes_of_a_type(tmp_path):
    def speed(name):
        return 2 if name.startswith("op/conv2d/vgg/") else 8 if name.startswith("op/conv2d/") else 1

    options = {"workloads": ("alexnet", "vgg"), "profile": False}
    found = pair(tmp_path, document(**options), document(speed, **options, **OTHER))
    table = op_means(found).set_index(["type", "pass_", "cache", "setting"])
    one = table.loc[("conv2d", "forward", "hot", "CPU, 1 thread")]
    assert (one.rows, one.smallest, one.largest) == (4, pytest.approx(2), pytest.approx(8))
    assert one.speedup == pytest.approx(4)
    assert (one.smallest_in.split("/")[0], one.largest_in.split("/")[0]) == ("vgg", "alexnet")
    assert table.loc["matmul"].speedup.to_numpy() == pytest.approx(1)


def test_an_interval_holds_the_ratio_of_the_medians():
    draw = np.random.default_rng(1)
    base, other = (draw.lognormal(mean, 0.05, 9) for mean in (1, 0.5))
    low, high = interval.of_ratio(base, other)
    assert low < np.median(base) / np.median(other) < high
    assert interval.of_ratio(base, other) == (low, high), "the seed is fixed"


def test_intervals_hold_the_true_ratio_about_as_often_as_they_say():
    draw = np.random.default_rng(1)
    trials = [
        interval.of_ratio(*(1 + abs(draw.normal(0, width, 9)) for width in (0.01, 0.03)))
        for _ in range(200)
    ]
    median = 0.67448975  # of the absolute value of a normal variable
    true = (1 + 0.01 * median) / (1 + 0.03 * median)
    assert 0.9 <= np.mean([low <= true <= high for low, high in trials]) <= 0.99


@pytest.mark.parametrize("repetitions", [(1, 9), (4, 9), (9, 1)])
def test_few_repetitions_have_no_interval(repetitions):
    assert all(map(math.isnan, interval.of_ratio(*(np.ones(count) for count in repetitions))))


def test_figures_say_why_there_is_no_interval(machines):
    assert "Steps have no intervals, which need 5 repetitions" in speedup.figure(machines).sentence


def test_repetitions_give_intervals(tmp_path):
    options = {"repetitions": made_up.REPETITIONS, "workloads": ("vgg",)}
    found = pair(tmp_path, document(**options), document(2, **options, **OTHER))
    row = of_step(found.steps, "vgg")
    assert row.speedup == pytest.approx(2)
    assert 1.9 < row.low < 2 < row.high < 2.1
    assert "95 % intervals of the ratio of medians" in speedup.figure(found).sentence


def files_of(times):
    return [[us] * 9 for us in times]


def test_the_interval_between_files_is_welchs():
    """However many repetitions a file has, it is one sample: its median."""
    base, other = [[100, 100, 900], [110], [120, 1, 120]], [[50], [52], [60]]
    low, high = interval.of_speedup(base, other)
    logs = [np.log([100, 110, 120]), np.log([50, 52, 60])]
    found = stats.ttest_ind(*logs, equal_var=False).confidence_interval(0.95)
    assert (low, high) == pytest.approx((math.exp(found.low), math.exp(found.high)))


def test_files_that_agree_have_an_interval_of_one_point():
    assert interval.of_speedup(files_of([100, 100]), files_of([50, 50])) == pytest.approx((2, 2))


@pytest.mark.parametrize("others", [1, 3])
def test_one_file_on_a_side_leaves_the_interval_of_repetitions(others):
    base, other = [[100, 101, 102, 103, 104]], files_of([50, 60, 70][:others])
    assert interval.of_speedup(base, other) == interval.of_ratio(
        *map(np.concatenate, (base, other))
    )


def test_an_interval_holds_the_speed_up_that_is_shown():
    """Of nine files a side, the mean of the logarithms is far from the median."""
    skewed = files_of([100, 100, 100, 100, 100, 100, 100, 200, 400])
    low, high = interval.of_speedup(skewed, files_of([100, 100, 100]))
    assert low <= 1 <= high


def test_files_are_samples_and_repetitions_are_not(tmp_path):
    options = {"workloads": ("vgg",), "repetitions": made_up.REPETITIONS}
    base = {f"a{n}": document(speed, **options) for n, speed in enumerate((0.9, 1, 1.1))}
    other = {f"b{n}": document(speed, **options, **OTHER) for n, speed in enumerate((1.8, 2, 2.2))}
    found = compare(*sides.read(write(tmp_path, **base, **other)), "")
    row = of_step(found.steps, "vgg")
    assert (row.base_files, row.other_files, row.base_repetitions) == (3, 3, 15)
    half = math.log(row.high / row.low) / 2
    logs = np.log([0.9, 1, 1.1])
    assert half == pytest.approx(2.7764451 * logs.std(ddof=1) * math.sqrt(2 / 3))
    assert "intervals of the ratio of medians, between files." in speedup.figure(found).sentence


def test_intervals_of_one_run_say_what_they_leave_out(tmp_path):
    options = {"workloads": ("vgg",), "repetitions": made_up.REPETITIONS}
    runs = {f"a{n}": document(1 + n / 50, **options) for n in range(3)}
    found = compare(*sides.read(write(tmp_path, **runs, b=document(2, **options, **OTHER))), "")
    (words,) = notes.intervals([found])
    assert words.startswith("B has one file of some rows. Their intervals are those of the repet")
    assert f"those of one file a side in {interval.HELD_BY_ONE} %" in words
    assert "medians, of the repetitions of one run." in speedup.figure(found).sentence


def test_without_intervals_nothing_is_left_out(machines):
    assert not list(notes.intervals([machines]))


def test_a_speed_up_is_compared_with_the_ratio_of_the_peaks(tmp_path):
    peak = {"peak_flops_cpu_threads1_fp32": "180 GFLOP/s, oneDNN GEMM"}
    options = {"workloads": WORKLOADS, "modes": ("train",)}
    found = pair(tmp_path, document(**options), document(by_workload, **options, **OTHER, **peak))
    sentence = speedup.figure(found).sentence
    assert sentence.startswith(
        "B is faster than A in 5 of 5 steps. Relative to A, its FLOP/s peak is 1.8 (CPU, 1 thread); "
        "the speed-up of 3 of 5 steps is larger."
    )


def test_one_workload_needs_no_mean(tmp_path):
    options = {"workloads": ("vgg",), "modes": ("train",)}
    found = pair(tmp_path, document(**options), document(2, **options, **OTHER))
    assert sentences(found) == ["Training, CPU, 1 thread: B is 2 times as fast as A (vgg)."]


# --- op types


def test_op_types_are_summed_over_steps_and_averaged(tmp_path):
    options = {"workloads": ("alexnet", "vgg"), "modes": ("train",)}
    speed = {"alexnet": 1, "vgg": 4}
    found = pair(
        tmp_path,
        document(**options),
        document(
            lambda name: speed[name.split("/")[0]] if "op:conv2d" in name else 1, **options, **OTHER
        ),
    )
    row = op_types.figure(found).data.set_index("type").loc["conv2d"]
    times = [made_up.type_us(workload, "conv2d") for workload in speed]
    assert (row.A_us, row.B_us) == pytest.approx((sum(times), times[0] + times[1] / 4))
    assert row.speedup_of_sum == pytest.approx(sum(times) / (times[0] + times[1] / 4))
    assert row.speedup == pytest.approx(2), "the geometric mean of 1 and 4"
    assert row.steps == 2


def test_views_and_the_time_between_ops_are_one_type(tmp_path):
    options = {"workloads": ("memnet",), "modes": ("train",)}
    found = pair(tmp_path, document(**options), document(2, **options, **OTHER))
    data = op_types.figure(found).data.set_index("type")
    assert "view" not in data.index
    assert (
        data.A_us["framework"]
        == made_up.PROFILES["memnet"]["view"] + made_up.PROFILES["memnet"]["framework"]
    )


def test_small_views_count_in_the_sum_of_their_class(tmp_path):
    """Each reshape takes 0.4 % of the step; a type of another class with this share is left out."""
    step, us = made_up.step_name("memnet"), 0.004 * made_up.step_us("memnet")
    small = [made_up.row(f"{step}/op:reshape{n}", us, "framework", pct_of_step=0.4) for n in "abc"]
    small.append(made_up.row(f"{step}/op:exp", us, "elementwise", pct_of_step=0.4))
    options = {"workloads": ("memnet",), "modes": ("train",), "extra": small}
    found = pair(tmp_path, document(**options), document(2, **options, **OTHER))
    data = op_types.figure(found).data.set_index("type")
    profile = made_up.PROFILES["memnet"]
    assert data.A_us["framework"] == pytest.approx(profile["view"] + profile["framework"] + 3 * us)
    table = op_types.every_setting(found).set_index("type")
    assert table.base_us["framework"] == pytest.approx(data.A_us["framework"])
    assert "exp" not in data.index and "exp" not in table.index


# --- shares of the peaks


@pytest.mark.parametrize(
    "promised, words",
    [
        (8, "The faster side is used less well, as TBD found: B is "),
        (1, "The faster side is used better, unlike in TBD: B is "),
        (2.1, "Both sides are used about equally well, unlike in TBD: B is "),
    ],
)
def test_tbds_observation_is_tested(tmp_path, promised, words):
    """The other machine promises `promised` times the speed. Its steps are faster by SPEEDS."""
    other = document(by_workload, workloads=WORKLOADS, **OTHER)
    for row in other["benchmarks"]:
        if "flops_pct_peak" in row:
            row["flops_pct_peak"] /= promised
    sentence = shares.observation(pair(tmp_path, document(workloads=WORKLOADS), other))
    assert sentence.startswith(words)
    mean = math.prod(SPEEDS.values()) ** (1 / len(SPEEDS))
    assert f"ratio of the shares {mean / promised:.2f}, 95 % interval" in sentence
    lower = sum(speed < promised for speed in SPEEDS.values())
    assert f"lower in {lower} of 5 workloads (training, CPU, 1 thread;" in sentence


def test_two_workloads_decide_no_observation(tmp_path):
    slow = document(0.5, workloads=WORKLOADS[:2], **OTHER)
    sentence = shares.observation(pair(tmp_path, document(workloads=WORKLOADS[:2]), slow))
    assert sentence.startswith("Too few workloads tell how well the faster side is used: A is 2 ")


def test_the_faster_side_may_be_the_base(tmp_path):
    slow = document(0.5, workloads=WORKLOADS, **OTHER)
    sentence = shares.observation(pair(tmp_path, document(workloads=WORKLOADS), slow))
    assert (
        "A is 2 times as fast as B and reaches 30 % of its FLOP/s peak, where B reaches 15 %"
        in sentence
    )


def test_the_observation_names_the_ratio_of_the_fewest_threads_too(tmp_path):
    """With two threads, all shares of the other machine are halved."""
    options = {"workloads": WORKLOADS, "threads": (1, 2)}
    other = document(**options, **OTHER)
    for row in other["benchmarks"]:
        if "flops_pct_peak" in row and "/threads:2/" in row["name"]:
            row["flops_pct_peak"] /= 2
    sentence = shares.observation(pair(tmp_path, document(**options), other))
    assert "ratio of the shares 0.50, 95 % interval over workloads 0.50 to 0.50; " in sentence
    assert "CPU, 1 thread: 1.00, 95 % interval over workloads 1.00 to 1.00)." in sentence


def test_without_shares_there_is_no_observation(tmp_path):
    made = document(workloads=("vgg",))
    for row in made["benchmarks"]:
        row.pop("flops_pct_peak", None)
    found = pair(tmp_path, made, document(workloads=("vgg",), **OTHER))
    assert shares.observation(found) is None
    assert isinstance(shares.figure(found), Missing) and isinstance(headroom.figure(found), Missing)


def test_shares_of_op_rows_are_those_of_the_files(machines):
    data = op_shares.figure(machines).data
    conv = data[(data.type == "conv2d") & (data.workload == "vgg") & (data.backend == "torch")]
    assert set(conv.peak) == {"FLOP/s"} and conv.A_pct.to_numpy() == pytest.approx(60)
    assert conv.B_pct.to_numpy() == pytest.approx(60 * SPEEDS["vgg"])


# --- the roofs


def test_the_roof_is_the_lower_of_two():
    roof = Roof(flops=100, bytes=20)
    assert [roof.attainable(one) for one in (1, 5, 50)] == [20, 100, 100] and roof.ridge == 5


def test_ops_between_the_ridges_have_moved(tmp_path):
    """All ops have 32 FLOPs per byte. The ridge of the base is at 5."""
    peak = {"peak_bytes_cpu_threads1": "2 GB/s, read"}
    found = pair(tmp_path, document(), document(**OTHER, **peak))
    figure = roofs.figure(found)
    assert set(figure.data.A_bound) == {"compute"} and set(figure.data.B_bound) == {"memory"}
    assert figure.data.flops_per_byte.to_numpy() == pytest.approx(made_up.INTENSITY)
    assert "at 5 FLOPs per byte on A and at 50 on B" in figure.sentence
    assert "8 (conv2d and matmul) are compute-bound on A and memory-bound on B" in figure.sentence


def test_one_shape_is_in_the_singular(tmp_path):
    one, other = document(), document(2, **OTHER)
    for made in (one, other):
        rows = made["benchmarks"]
        ops = [row["name"] for row in rows if row["name"].startswith("op/")]
        made["benchmarks"] = [row for row in rows if row["name"] not in ops[1:]]
    sentence = roofs.figure(pair(tmp_path, one, other)).sentence
    assert "Of 1 op shape, 1 is compute-bound and 0 memory-bound on both" in sentence


def test_no_op_moves_between_equal_ridges(tmp_path):
    sentence = roofs.figure(pair(tmp_path, document(), document(2, **OTHER))).sentence
    assert (
        "8 are compute-bound and 0 memory-bound on both; none is compute-bound on one side only"
        in sentence
    )


def test_the_peaks_of_several_files_count_by_their_median(tmp_path):
    peaks = [
        {
            "peak_bytes_cpu_threads1": f"{rate} GB/s, read",
            "peak_flops_cpu_threads1_fp32": f"{100 * rate} GFLOP/s, oneDNN GEMM",
        }
        for rate in (1, 4, 50)
    ]
    files = {f"a{n}": document(**peak) for n, peak in enumerate(peaks)}
    base, _ = sides.read(write(tmp_path, **files, b=document(**OTHER)))
    assert base.roof("cpu", 1, "fp32") == Roof(400e9, 4e9)
    assert base.peak_flops("cpu", 1, "fp32") == 400e9


def test_the_time_at_the_roof_is_the_time_of_the_flops_at_the_peak(machines):
    steps = headroom.at_the_roof(machines.steps)
    row = of_step(steps, "vgg")
    flops = made_up.FLOPS["matmul"] * made_up.PEAK_FLOPS * made_up.step_us("vgg") / 1e6
    assert row.base_roof_us == pytest.approx(1e6 * flops / made_up.PEAK_FLOPS)
    assert row.other_roof_pct == pytest.approx(30 * SPEEDS["vgg"])


def test_bytes_limit_a_step_that_counts_them(tmp_path):
    made = document(workloads=("vgg",))
    made["benchmarks"][0]["bytes_pct_peak"] = 80
    found = pair(tmp_path, made, document(workloads=("vgg",), **OTHER))
    row = of_step(headroom.at_the_roof(found.steps), "vgg")
    assert (row.base_roof_pct, row.other_roof_pct) == pytest.approx((80, 30))


def test_what_is_left_is_in_the_sentence(tmp_path):
    options = {"workloads": ("vgg", "memnet"), "modes": ("train",)}
    found = pair(tmp_path, document(**options), document(2, **options, **OTHER))
    sentence = headroom.figure(found).sentence
    assert (
        "a step on A would take 30 % of its time, so up to 3.33 times the speed is left" in sentence
    )
    assert "most time in vgg/train: 70 ms" in sentence and "a step on B would take 60 %" in sentence
    assert isinstance(found.steps, pd.DataFrame)


def test_steps_that_cannot_come_near_the_roof_are_named_and_not_counted(tmp_path):
    """memnet has no matrix product here. Its share of the peak would change the mean."""
    options = {"workloads": ("vgg", "memnet"), "modes": ("train",)}
    base, other = document(**options), document(2, **options, **OTHER)
    for made in (base, other):
        for row in made["benchmarks"]:
            if row["name"].startswith("memnet/") and "flops_pct_peak" in row:
                row["flops_pct_peak"] = 0.3
    sentence = headroom.figure(pair(tmp_path, base, other)).sentence
    assert "a step on A would take 30 % of its time" in sentence and "60 % of" in sentence
    assert "Not counted are steps that cannot come near the peak, with less than 50 %" in sentence
    assert sentence.endswith("it counts: memnet/train. Setting: CPU, 1 thread.")


def test_both_sides_must_spend_half_of_the_step_in_products(tmp_path):
    options = {"workloads": ("vgg",), "modes": ("train",)}
    other = document(2, **options, **OTHER)
    for row in other["benchmarks"]:
        if "/op:conv2d" in row["name"]:
            row["pct_of_step"] = 20
    sentence = headroom.figure(pair(tmp_path, document(**options), other)).sentence
    assert "times the speed is left" not in sentence and "vgg/train" in sentence


def test_without_op_types_it_is_not_known_what_can_come_near_the_roof(tmp_path):
    options = {"workloads": ("vgg",), "profile": False}
    found = pair(tmp_path, document(**options), document(2, **options, **OTHER))
    assert headroom.figure(found).sentence == (
        "Not counted are steps that are not profiled (--fathom_profile), so whether they can come near the peak is not known: "
        "vgg/train and vgg/infer. Setting: CPU, 1 thread."
    )


def test_shares_beyond_the_peak_say_nothing_about_what_is_left(tmp_path):
    options = {"workloads": ("vgg",), "modes": ("train",)}
    base, other = document(**options), document(2, **options, **OTHER)
    other["benchmarks"][0]["flops_pct_peak"] = 267017
    found = pair(tmp_path, base, other)
    sentence = headroom.figure(found).sentence
    assert (
        "On B, steps reach more than 300 % of the measured peak (geometric mean), so it is"
        in sentence
    )
    assert "a step on A would take 30 %" in sentence and "267017" not in sentence
    assert "more than 300 % of its FLOP/s peak" in shares.observation(found)


def test_a_step_that_counts_its_bytes_can_come_near_the_roof(tmp_path):
    options = {"workloads": ("memnet",), "modes": ("train",)}
    base, other = document(**options), document(2, **options, **OTHER)
    for made in (base, other):
        made["benchmarks"][0]["bytes_pct_peak"] = 80
    sentence = headroom.figure(pair(tmp_path, base, other)).sentence
    assert "a step on A would take 80 % of its time, so up to 1.25 times" in sentence
