"""results/predict --ranks: predictions worked out by hand, the choice of rows, and errors."""

import json
import re

import made_up_ranks
import made_up_run as made_up
import pytest
from fathom_ranks.model import ASSUMED, Phases, Reduction, all_reduce_us, exposed
from fathom_ranks.page import ring
from fathom_ranks.rows import assumed
from program import ROOT, predict

STEP_US = 30_000  # the backward pass is from 10 to 30 ms
BUCKETS = (10_000_000, 30_000_000)  # bytes; the first is ready after 15 ms, the second after 30


def start(file, *arguments):
    return predict(file, "--ranks", *arguments)


def step(workload="vgg", ranks=1, threads=1, **counters):
    fields = {"local_step_us": STEP_US, "gradient_bytes": sum(BUCKETS), "buckets": 2} | counters
    return made_up_ranks.step(workload, ranks, threads, **fields)


def reductions(workload="vgg", ranks=1, sizes=BUCKETS):
    return [
        made_up_ranks.collective("all_reduce", workload, f"bucket{index}", ranks, 123, size)
        for index, size in enumerate(sizes)
    ]


def page(folder, rows, *arguments, **context):
    file = made_up.write(
        folder / "run.json", {"context": made_up.context(**context), "benchmarks": rows}
    )
    result = start(file, *arguments)
    assert result.returncode == 0 and result.stderr == "", result.stderr
    return result.stdout


def tables(text):
    """The cells of each workload, by number of ranks."""
    found = {}
    for ranks, table in re.findall(r"^## ([\d,]+) ranks\n\n(.*?)(?=\n\n|\Z)", text, re.M | re.S):
        lines = [line.strip("| ").split(" | ") for line in table.strip().splitlines()]
        assert len({len(line) for line in lines}) == 1
        found[int(ranks.replace(",", ""))] = {line[0]: line[1:] for line in lines[2:]}
    return found


# --- the model


def test_time_of_a_ring():
    # 2 * 7 / 8 * 10 MB at 1.25 GB/s, and 14 messages of 25 us.
    assert all_reduce_us(10e6, 8, 10, 25) == pytest.approx((14_000, 350))
    assert all_reduce_us(10e6, 1, 10, 25) == (0, 0)


def late(buckets, gbits):
    """The parts of the exposed time on 8 ranks."""
    found = exposed(STEP_US, ASSUMED, ring(buckets, 8, gbits, 25))
    assert found.slowed == 0
    return found.bandwidth, found.latency


def test_a_bucket_waits_for_its_gradients_and_for_the_bucket_before_it():
    # 10 Gb/s: the first from 15 to 29.35 ms is hidden; the second from 30 ms is not.
    assert late(BUCKETS, 10) == pytest.approx((42_000, 350))
    # 1 Gb/s: the first from 15 to 155.35 ms, the second to 575.7 ms; 15 ms are hidden.
    hidden = 15_000 / 140_350
    bandwidth = 140_000 * (1 - hidden) + 420_000
    latency = 350 * (1 - hidden) + 350
    found = late(BUCKETS, 1)
    assert found == pytest.approx((bandwidth, latency))
    assert sum(found) == pytest.approx(575_700 - STEP_US)
    # Ready after 15, 20 and 30 ms; from 15 to 29.35, to 43.7 and to 72.05 ms.
    three = (10_000_000, 10_000_000, 20_000_000)
    assert sum(late(three, 10)) == pytest.approx(42_050)


def test_reductions_wait_for_the_backward_pass_and_the_update_for_them():
    """Forward to 5 ms, backward to 25; the bucket is reduced until 29, then the update."""
    phases = Phases(5 / 30, 20 / 30)
    assert exposed(STEP_US, phases, [Reduction(1, 4000)]).us == pytest.approx(4000)
    assert exposed(STEP_US, phases, [Reduction(0.5, 4000)]).us == 0


def test_a_reduction_slows_the_backward_pass_by_the_cores_that_it_takes():
    # Backward from 10 to 30 ms. From 20 ms on, the reduction takes a quarter of the core for 8 ms.
    found = exposed(STEP_US, ASSUMED, [Reduction(0.5, 8000, taken=0.25)])
    assert (found.bandwidth, found.slowed) == pytest.approx((0, 2000))
    # It takes half of it and 30 ms: the backward pass ends at 40 ms, the reduction at 50.
    found = exposed(STEP_US, ASSUMED, [Reduction(0.5, 30_000, taken=0.5)])
    assert (found.bandwidth, found.slowed) == pytest.approx((10_000, 10_000))
    found = exposed(STEP_US, ASSUMED, [Reduction(0.5, 8000, taken=1)])
    assert (found.bandwidth, found.slowed) == pytest.approx((0, 8000))


def test_assumed_buckets():
    mib = 2**20
    assert assumed(7 * mib, 4) == [mib, 2 * mib, 2 * mib, 2 * mib]
    assert assumed(2000, 4) == [500] * 4, "less than 1 MiB in each"
    assert assumed(3 * mib, 1) == [3 * mib]


# --- the page


def test_efficiencies_and_limits(tmp_path):
    found = tables(page(tmp_path, [step(), *reductions()]))
    # 8 ranks: 30 / 575.7, 30 / 72.35, 30 / (30 + 4.2 + 0.07), 30 / (30 + 1.05 + 0.07)
    cells = ["5.21 bandwidth", "41.5 bandwidth", "87.5 bandwidth", "96.4 compute"]
    assert found[8] == {"vgg, batch 8, assumed phases": ["40", "30", *cells]}
    # 1,024 ranks send 2,046 messages per bucket. At 100 Gb/s, the second takes 4.795 ms and 10.23 ms of latency,
    # at 400 Gb/s 1.199 ms and 10.23 ms. At 10 Gb/s, both take 15.98 + 51.15 and 47.95 + 51.15 ms, from 15 ms on:
    # they end after 181.24 ms, and 15.98 * 52.13 / 67.13 + 47.95 ms are by the bandwidth.
    assert found[1024]["vgg, batch 8, assumed phases"][3:] == [
        "16.6 latency",
        "66.6 latency",
        "72.4 latency",
    ]
    assert list(found) == [8, 64, 1024]


def test_the_latency_is_an_option(tmp_path):
    text = page(tmp_path, [step(), *reductions()], "--latency-us=1000")
    # 8 ranks at 400 Gb/s: the second bucket takes 1.05 ms and 14 ms of latency.
    assert tables(text)[8]["vgg, batch 8, assumed phases"][-1] == "66.6 latency"
    assert "1000 µs at 400 Gb/s" in text
    text = page(tmp_path, [step(), *reductions()])
    assert "25 µs at 1 Gb/s, 25 µs at 10 Gb/s, 5 µs at 100 Gb/s and 5 µs at 400 Gb/s" in text


def test_the_page_says_where_it_comes_from(tmp_path):
    text = page(tmp_path, [step(), *reductions()], git_commit="0123456789abcdef")
    assert text.startswith("# ") and text.endswith(" |\n") and str(tmp_path) not in text
    assert "Machine: Made-up CPU, CPUs: 8, date 2026-01-01, commit 0123456789." in text
    assert "results/predict run.json --ranks > results/ranks-model.md" in text
    assert "of rows with `threads:1/ranks:1`." in text
    assert "Patarasuk and Yuan" in text and "Li et al." in text and "last 2/3 of the step" in text


@pytest.mark.parametrize(
    "rows",
    [
        [],
        reductions(sizes=BUCKETS[:1]),
        reductions(sizes=(10e6, 20e6)),
        reductions(sizes=(*BUCKETS, 1e3)),
        reductions("memnet"),
        made_up_ranks.collectives("vgg", 1),
    ],
)
def test_without_the_sizes_of_all_buckets_they_are_assumed(tmp_path, rows):
    (cells,) = tables(page(tmp_path, [step(), *rows]))[8].items()
    # At 400 Gb/s, the second bucket of 40 - 1.05 MB takes 1.363 ms and 0.07 ms.
    assert cells == ("vgg, batch 8, assumed buckets and phases", cells[1])
    assert cells[1][:2] == ["40", "30"] and cells[1][-1] == "95.4 compute"


def test_sizes_come_from_op_rows_of_any_number_of_ranks_and_from_each_repetition(tmp_path):
    rows = [step(), *made_up.repeated(reductions(ranks=2), (1, 1.5, 0.5))]
    for row in rows[1:]:
        row["algbw"] *= 123 / row["real_time"]
    assert list(tables(page(tmp_path, rows))[8]) == ["vgg, batch 8, assumed phases"]


def test_of_several_rows_the_fewest_ranks_and_then_the_most_threads_count(tmp_path):
    rows = [
        step(ranks=2, threads=4, local_step_us=1000),
        step(ranks=1, threads=1, local_step_us=2000),
        step(ranks=1, threads=2, local_step_us=3000),
        step("memnet", ranks=2),
        made_up.row(made_up.step_name("seq2seq"), 500),
    ]
    text = page(tmp_path, rows)
    found = tables(text)[8]
    assert [name.split(",")[0] for name in found] == ["vgg", "memnet"]
    assert [cells[1] for cells in found.values()] == ["3", "30"]
    assert "of rows with `threads:2/ranks:1` and `threads:1/ranks:2`." in text


# --- phases


def profiled(folder, name="steps.json", workload="vgg", threads=1, batch=8, phases=(6, 20, 4)):
    """A file with a profiled step of 40 ms. `phases` are shares of 30."""
    keys = ("forward_us", "backward_us", "update_us")
    fields = {key: 1000 * share for key, share in zip(keys, phases)}
    row = made_up.row(made_up.step_name(workload, threads=threads, batch=batch), 40_000, **fields)
    return made_up.write(folder / name, {"context": made_up.context(), "benchmarks": [row]})


def test_the_backward_pass_is_that_of_a_profiled_step(tmp_path):
    """Forward to 6 ms, backward to 26, update to 30. At 400 Gb/s, the second bucket takes 1.12 ms from 26 ms on."""
    text = page(tmp_path, [step(), *reductions()], "--phases", profiled(tmp_path))
    assert "in steps.json. Without one" in text
    (cells,) = tables(text)[8].items()
    assert cells[0] == "vgg, batch 8" and cells[1][-1] == "96.4 compute"
    # At 1 Gb/s from 11 ms on, reductions take 140.35 and 420.35 ms; 15 ms of them are hidden.
    assert cells[1][2] == f"{100 * 30 / (30 + 560.7 - 15):.3g} bandwidth"


def test_the_nearest_profiled_step_counts(tmp_path):
    near = dict(threads=1, batch=16, phases=(10, 20, 0))
    files = [
        profiled(tmp_path, "a.json", threads=2, batch=8, phases=(29, 1, 0)),
        profiled(tmp_path, "b.json", batch=64, phases=(29, 1, 0)),
        profiled(tmp_path, "c.json", **near),
        profiled(tmp_path, "d.json", "alexnet", phases=(29, 1, 0)),
    ]
    rows = [step(), *reductions()]
    found = tables(page(tmp_path, rows, "--phases", *files))[8]
    assert found == {
        "vgg, batch 8": tables(page(tmp_path, rows))[8]["vgg, batch 8, assumed phases"]
    }


# --- beside measured steps


def pair_file(folder, name="pair.json", exposed_us=10_000, busy=0.5, cpus="0", **context):
    """A step of two ranks. Its buckets, timed alone, take 4 and 8 ms and keep `busy` cores busy."""
    rows = [step(ranks=2, exposed_us=exposed_us)]
    for index, (size, us) in enumerate(zip(BUCKETS, (4000, 8000))):
        row = made_up_ranks.collective("all_reduce", "vgg", f"bucket{index}", 2, us, size)
        rows.append(row | {"cpu_time": busy * us})
    made = {"context": made_up.context(affinity=cpus, **context), "benchmarks": rows}
    return made_up.write(folder / name, made)


def pairs_of(text):
    table = text.split("## Beside what was measured")[1].split("\n\n")[2]
    return [line.strip("| ").split(" | ") for line in table.strip().splitlines()][2:]


def measured(folder, *arguments, **fields):
    rows = [step(), *reductions()]
    return page(folder, rows, "--measured", pair_file(folder, **fields), *arguments)


def test_the_model_stands_beside_each_measured_pair_with_its_error(tmp_path):
    """Backward from 10 to 32 ms: the first reduction, from 15 to 19 ms, takes 2 ms of it, the second lasts to 40."""
    (row,) = pairs_of(measured(tmp_path))
    assert row[:2] == ["pair", "vgg, batch 8, assumed phases, `threads:1/ranks:2`"]
    assert row[2:4] == ["30", "10"]
    assert row[4:6] == ["10", "+0 %"] and row[6:8] == ["8", "-20 %"]
    assert row[8:] == ["75", "75"]
    (row,) = pairs_of(measured(tmp_path, exposed_us=20_000))
    assert row[4:6] == ["10", "-50 %"] and row[8:] == ["60", "75"]


@pytest.mark.parametrize(
    "cpus, context, slowed",
    [
        ("0", {}, 2),
        ("0-1", {}, 2),  # two ranks share two CPUs
        ("0-3", {}, 0),  # the second CPU of the rank is free
        ("0,2-3,5", {}, 0),
        ("0-1", {"hosts": "2"}, 0),
    ],
)
def test_reductions_take_a_core_only_if_none_is_free(tmp_path, cpus, context, slowed):
    (row,) = pairs_of(measured(tmp_path, cpus=cpus, **context))
    assert row[4] == str(8 + slowed)


def test_the_page_says_how_far_its_upper_bounds_are_off(tmp_path):
    assert "without this is off by -20 % in `pair`." in measured(tmp_path)
    assert "upper bounds" in page(tmp_path, [step()]) and "is not known here" in page(
        tmp_path, [step()]
    )


def test_other_workloads_are_predicted_for_the_measured_network(tmp_path):
    """alexnet's only bucket is ready after 36 of 40 ms. 40 MB take 12 ms on this network."""
    rows = [step(), *reductions(), step("alexnet", buckets=1)]
    files = ["--phases", profiled(tmp_path, workload="alexnet", batch=64, phases=(10, 17, 3))]
    text = page(tmp_path, rows, "--measured", pair_file(tmp_path), *files)
    assert "as those of vgg, which are 3,333 MB/s, and keeps 0.50 cores busy" in text
    assert (
        "\n| alexnet, batch 64, assumed buckets, `threads:1/ranks:2` | 40 | 40 | 12 | 76.9 |\n"
        in text
    )


def test_what_the_model_needs_of_a_measured_file_is_named(tmp_path):
    good = json.loads(pair_file(tmp_path).read_text())
    alone = good | {"benchmarks": good["benchmarks"][:1]}
    for made, found in (
        (alone, "no row op/all_reduce/<workload>/bucket<i>/... with ranks:2, expected"),
        (good | {"benchmarks": [step()]}, "no training step of two ranks or more, expected"),
        (json.loads(json.dumps(good).replace("exposed_us", "late_us")), "has no exposed_us"),
    ):
        file = made_up.write(tmp_path / "pair.json", made)
        run = made_up.write(tmp_path / "run.json", {"context": {}, "benchmarks": [step()]})
        line = refused(run, "--measured", file)
        assert "pair.json: " in line and found in line


def test_the_page_of_the_project_is_what_the_command_prints():
    """To write it anew: the command of this test, with > results/ranks-model.md"""
    found = (ROOT / "results/ranks-model.md").read_text()
    command = re.search(r"^results/predict (.*) > results/ranks-model.md$", found, re.M)[1]
    folder = ROOT / "results/runs/amd-epyc-zen5-2-cores"
    words = [folder / f"{one}.gz" if ".json" in one else one for one in command.split()]
    result = predict(*words)
    assert result.returncode == 0, result.stderr
    assert result.stdout == found


# --- errors


def refused(*arguments):
    result = start(*arguments)
    assert result.returncode == 2 and result.stdout == ""
    assert len(result.stderr.splitlines()) == 1 and "expected" in result.stderr
    assert result.stderr.startswith("predict: ")
    return result.stderr


def test_bad_input_is_one_line(tmp_path):
    file, good = tmp_path / "run.json", json.dumps({"context": {}, "benchmarks": [step()]})
    plain = {"context": {}, "benchmarks": [made_up.row(made_up.step_name("vgg"), 500)]}
    silent = {"context": {}, "benchmarks": [step(), *reductions()]}
    del silent["benchmarks"][-1]["algbw"]
    cases = {
        "": "is truncated",
        "{}": "no `context`",
        '{"context": {}, "benchmarks": []}': "no measured row",
        json.dumps(plain): "no training step with ranks",
        json.dumps(silent): "algbw of op/all_reduce/vgg/bucket1/",
        good.replace("local_step_us", "local_us"): "local_step_us of vgg/train/",
        good.replace('"gradient_bytes": 40000000', '"gradient_bytes": 0'): "is 0, expected more",
        good.replace("ranks:1", "ranks:0"): "has ranks:0, expected",
        good.replace("ranks:1", "ranks:many"): "lacks a valid 'ranks', expected",
        good.replace("vgg/train/", "other/ranks:many/"): "no training step with ranks",
        good.replace("/threads:1", ""): "lacks a valid 'threads', expected",
    }
    for text, found in cases.items():
        file.write_text(text)
        assert found in refused(file), text[:200]
    assert "No such file" in refused(tmp_path / "none.json")


@pytest.mark.parametrize(
    "option", ["--latency-us=0", "--latency-us=slow", "--ranks=8", "--without=cache_gb_per_s"]
)
def test_wrong_usage_exits_with_2(tmp_path, option):
    file = made_up.write(tmp_path / "run.json", {"context": {}, "benchmarks": [step()]})
    result = start(file, option)
    assert result.returncode == 2 and option.split("=")[0] in result.stderr


def test_a_context_without_facts_is_enough(tmp_path):
    file = made_up.write(tmp_path / "run.json", {"context": {}, "benchmarks": [step()]})
    assert "Machine: Unnamed machine. " in start(file).stdout
