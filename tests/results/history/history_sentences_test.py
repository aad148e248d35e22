"""Sentences on the page of results/history about made-up changes."""

import json
import re

import made_up_history as made_up
import made_up_run
import pytest
from made_up_history import sentences, shown, words

OP = made_up_run.op_name("conv2d", "alexnet", "first", "onednn")
DAYS = 24


def name(workload):
    return made_up_run.step_name(workload)


def factor(row, day):
    """The factor of a row on a day. vgg does not change."""
    if row.startswith("alexnet/") and "op:conv2d" in row:
        return 1.2 if day >= 15 else 1
    if row.startswith("seq2seq/") and day >= 8:
        return 0.8 if "op:lstm_cell" in row else 1.2 if "op:matmul" in row else 1
    if row.startswith("memnet/"):
        return 1.5 if day == 12 else 1
    if row.startswith("speech/") and "op:lstm_cell" in row:
        return 1.3 if day == DAYS - 1 else 1
    return 1.3 if row == OP and day >= 15 else 1


def context(day):
    return {"libtorch": "2.12.0" if day >= 8 else "2.11.0", "host_name": f"docker-{day}"}


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """The sentences by row of a history with known changes, and the page."""
    folder = made_up.write(
        tmp_path_factory.mktemp("history") / "runs",
        DAYS,
        factor,
        context,
        workloads=tuple(made_up_run.PROFILES),
        op_rows=True,
    )
    for day in range(DAYS):
        file = folder / made_up.file(day)
        document = json.loads(file.read_text())
        for row in document["benchmarks"]:
            if row["run_name"].startswith(OP):
                row["label"] = "jit:avx2" if day >= 15 else "brg:avx512_core"
        made_up_run.write(file, document)
    result, page = shown(folder, folder.parent / "history.html")
    assert result.stderr == ""
    found = sentences(page)
    assert len(found) == len(dict(found)), "no row changes twice"
    return dict(found), page


def test_a_change_has_its_run_and_commits(known):
    sentence = known[0][name("alexnet")]
    assert sentence.startswith("has taken 12 % longer since 2026-01-16 00:00: ")
    assert "(means of 15 and 9 runs, p below 1e-" in sentence
    assert f" {made_up.commit(14)[:10]}..{made_up.commit(15)[:10]}. " in sentence
    after, before = re.search(r"([\d.]+) ms instead of ([\d.]+) ms", sentence).groups()
    assert float(before) == pytest.approx(10, rel=0.01)
    assert float(after) == pytest.approx(11.2, rel=0.01)


def test_an_op_type_is_named_as_cause(known):
    share, before, after = re.search(
        r"conv2d explains (\d+) % of it \(([\d.]+) ms to ([\d.]+) ms\)\.", known[0][name("alexnet")]
    ).groups()
    assert float(share) == pytest.approx(100, abs=5)
    assert (float(before), float(after)) == pytest.approx((6, 7.2), rel=0.01)


def test_op_types_that_changed_both_ways_are_named(known):
    sentence = known[0][name("seq2seq")]
    # 7 ms - 20 % and 2 ms + 20 %: -1.4 ms and +0.4 ms are 140 % and -40 % of the change of -1 ms.
    assert sentence.startswith("has taken 9.9 % less time since 2026-01-09 00:00: ")
    first, second = re.findall(r"(\w+) (?:explains )?(-?\d+) % of it", sentence)
    assert (first[0], second[0]) == ("lstm_cell", "matmul")
    assert (float(first[1]), float(second[1])) == pytest.approx((140, -40), abs=5)


def test_a_change_of_a_library_at_the_same_run_is_mentioned(known):
    also = "Between these runs libtorch changed from 2.11.0 to 2.12.0 (A), which may be the cause."
    assert also in known[0][name("seq2seq")]
    assert "Between these runs" not in known[0][name("alexnet")]


def test_a_change_at_the_newest_run_is_found(known):
    sentence = known[0][name("speech")]
    assert "since 2026-01-24 00:00" in sentence
    assert "(mean of 23 runs against the newest run, " in sentence
    assert "One run cannot tell a change from an outlier: the next one decides." in sentence
    assert "the next one decides" not in known[0][name("alexnet")]


def test_unchanged_rows_and_outliers_are_not_changes(known):
    assert known[0].keys() == {name("alexnet"), name("seq2seq"), name("speech"), OP}


def test_an_outlier_is_a_circle(known):
    card = re.search(f'data-name="{name("memnet")}".*?</section>', known[1], re.DOTALL)[0]
    assert card.count("<circle") == 1
    other = re.search(f'data-name="{name("vgg")}".*?</section>', known[1], re.DOTALL)[0]
    assert "<circle" not in other


def test_a_changed_label_is_mentioned(known):
    assert "Its label changed from brg:avx512_core to jit:avx2." in known[0][OP]


def test_the_newest_change_comes_first(known):
    assert list(known[0])[0] == name("speech")


def test_changes_of_the_context_are_in_a_table_and_in_every_trend(known):
    table = re.search(r'<section id="context.*?</section>', known[1], re.DOTALL)[0]
    (row,) = re.findall("<tr><td.*?</tr>", table)
    assert re.findall("<td[^>]*>(.*?)</td>", row)[:5] == [
        *("A", "2026-01-09 00:00", "libtorch", "2.11.0", "2.12.0"),
    ]
    assert known[1].count("<b>A</b> 2026-01-09 libtorch 2.11.0 → 2.12.0") == 5
    assert "docker" not in known[1], "host names are ignored"


def test_noise_gives_no_change(tmp_path):
    options = {"workloads": tuple(made_up_run.PROFILES), "modes": ("train", "infer"), "noise": 0.03}
    result, page = shown(made_up.write(tmp_path / "runs", 30, **options), tmp_path / "page.html")
    assert sentences(page) == [] and result.stdout.rstrip().endswith("0 changes")
    assert "In 30 runs no change of 2 % or more was found." in page


def test_a_page_states_how_often_it_is_wrong(tmp_path, known):
    latest = words(re.search(r'<section id="latest.*?</section>', known[1], re.DOTALL)[0])
    rate = "Of pages without a change, at most 5 % show one by chance if times vary independently"
    assert rate in latest and "Made-up pages without a change that show one" in latest
    assert "p is at most 0.0002 for times of steps" in " ".join(words(known[1]).split())
    _, page = shown(made_up.write(tmp_path / "runs", 5), tmp_path / "page.html")
    assert "Fewer than 10 runs do not show how they vary here." in page
    assert "Whether they correlate from run to run, so few times do not show." in page


def test_a_row_that_comes_back_says_so(tmp_path):
    folder = made_up.write(tmp_path / "runs", 20, lambda _, day: 1.2 if 8 <= day < 14 else 1)
    _, page = shown(folder, tmp_path / "page.html")
    (_, newest), (_, first) = sentences(page)
    assert "The row had this time before, until 2026-01-08 00:00." in newest
    assert "had this time before" not in first


def test_unknown_commits_are_said_to_be_unknown(tmp_path):
    folder = made_up.write(tmp_path / "runs", 16, lambda _, day: 1.2 if day >= 8 else 1)
    for day in range(16):
        file = folder / made_up.file(day)
        document = json.loads(file.read_text())
        del document["context"]["git_commit"]
        file.write_text(json.dumps(document))
    _, page = shown(folder, tmp_path / "page.html")
    ((_, sentence),) = sentences(page)
    assert ", of unknown commits. " in sentence


def test_a_drift_is_said_to_be_possible(tmp_path):
    folder = made_up.write(tmp_path / "runs", 30, lambda _, day: 1 + 0.01 * day)
    _, page = shown(folder, tmp_path / "page.html")
    found = ["A steady drift fits these runs as well." in one for _, one in sentences(page)]
    assert sum(found) > len(found) / 2


def test_a_label_is_one_line_of_limited_length(tmp_path):
    folder = made_up.write(tmp_path / "runs", 20, lambda _, day: 1.2 if day >= 10 else 1)
    for day in range(10, 20):
        document = made_up.run(day, lambda *_: 1.2)
        for row in document["benchmarks"]:
            row["label"] = "jit:\r\n<b>|`avx2`" + 100 * "x"
        made_up_run.write(folder / made_up.file(day), document)
    _, page = shown(folder, tmp_path / "page.html")
    ((_, sentence),) = sentences(page)
    assert "Its label changed from none to jit: <b>|`avx2`xxxx" in sentence
    assert "x… ." not in sentence and 61 * "x" not in sentence


def test_a_disturbed_run_is_named(tmp_path):
    folder = made_up.write(
        tmp_path / "runs", 12, lambda _, day: 1.4 if day == 5 else 1, op_rows=True
    )
    _, page = shown(folder, tmp_path / "page.html")
    assert sentences(page) == []
    assert "The run of 2026-01-06 00:00 was disturbed: 15 of 15 rows are outliers" in page


def test_disturbed_steps_of_the_newest_run_are_mentioned(tmp_path):
    folder = made_up.write(tmp_path / "runs", 3, modes=("train", "infer"))
    file = folder / made_up.file(2)
    document = json.loads(file.read_text())
    for row in document["benchmarks"]:
        row["disturbed_steps"] = row["iterations"] if "/train/" in row["name"] else 0
    made_up_run.write(file, document)
    _, page = shown(folder, tmp_path / "page.html")
    assert "In the newest run: 1 of 2 steps was disturbed: " in page


def test_small_changes_can_be_ignored(tmp_path):
    folder = made_up.write(
        tmp_path / "runs", 20, lambda _, day: 1.04 if day >= 10 else 1, noise=0.002
    )
    _, page = shown(folder, tmp_path / "page.html")
    assert len(sentences(page)) == 1
    _, page = shown(folder, tmp_path / "page.html", "--smallest=5")
    assert sentences(page) == [] and "no change of 5 % or more" in page


def test_missing_op_types_are_mentioned(tmp_path):
    folder = made_up.write(
        tmp_path / "runs", 12, lambda _, day: 1.2 if day >= 6 else 1, profile=False
    )
    _, page = shown(folder, tmp_path / "page.html")
    ((_, sentence),) = sentences(page)
    assert (
        "Its op types were not measured before and after the change (--fathom_profile)." in sentence
    )


def test_runs_that_lack_a_row_are_skipped(tmp_path):
    folder = made_up.write(tmp_path / "runs", 20, lambda _, day: 1.2 if day >= 10 else 1)
    for day in (8, 9, 10, 19):
        document = made_up.run(day, workloads=("memnet",))
        made_up_run.write(folder / made_up.file(day), document)
    _, page = shown(folder, tmp_path / "page.html")
    ((row, sentence),) = sentences(page)
    assert row == name("alexnet") and "since 2026-01-12 00:00" in sentence
    assert "(means of 8 and 8 runs, " in sentence
    assert f"{made_up.commit(7)[:10]}..{made_up.commit(11)[:10]}" in sentence
    assert f"The newest run lacks 1 row, for example {name('alexnet')}." in page


def test_the_median_of_repetitions_is_used(tmp_path):
    """One slow repetition in each later run moves the mean by 20 %, but not the median."""
    folder = made_up.write(tmp_path / "runs", 12, profile=False)
    for day in range(12):
        repetitions = (1, 0.99, 2 if day >= 6 else 1.01, 0.98, 1)
        document = made_up.run(day, profile=False, repetitions=repetitions)
        made_up_run.write(folder / made_up.file(day), document)
    _, page = shown(folder, tmp_path / "page.html")
    assert sentences(page) == []
    values = json.loads(re.search('class="values">(.*?)</script>', page)[1])
    assert values["high"][11] == pytest.approx(2 * values["us"][11], rel=1e-4)


@pytest.mark.parametrize("share, count", [(0.85, 1), (0.95, 0)])
def test_peaks_that_change_by_more_than_ten_percent_have_a_mark(tmp_path, share, count):
    def context(day):
        return {
            "peak_flops_cpu_threads1_fp32": f"{100 * (share if day >= 3 else 1):.4g} GFLOP/s, x"
        }

    folder = made_up.write(tmp_path / "runs", 6, context=context)
    _, page = shown(folder, tmp_path / "page.html")
    mark = "peak_flops_cpu_threads1_fp32 100 GFLOP/s, x → 85 GFLOP/s, x"
    assert page.count(f"<b>A</b> 2026-01-04 {mark}") == count == page.count("<b>A</b>")
