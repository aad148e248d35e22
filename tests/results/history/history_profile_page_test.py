"""What the page of results/history says about changed profiles."""

import re

import made_up_history as made_up
import made_up_run
import pytest
from made_up_history import sentences, shown, words

DAYS = 24
STEP = made_up_run.step_name("alexnet")  # from day 15, its profile differs, its time does not
SLOWER = made_up_run.step_name("seq2seq")  # an op type slows down on day 15
SAME = made_up_run.step_name("vgg")  # all op types slow down on day 15


def factor(row, day):
    if day < 15:
        return 1
    if row.startswith("alexnet/"):  # 6 ms + 0.72 ms, 2 ms - 0.5 ms, 1 ms - 0.22 ms
        return {"op:conv2d": 1.12, "op:matmul": 0.75, "op:relu": 0.78}.get(row.split("/")[-1], 1)
    if row.startswith("vgg/"):
        return 1.2
    return 1.3 if row.startswith("seq2seq/") and "op:lstm_cell" in row else 1


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The command line's output and the page."""
    folder = tmp_path_factory.mktemp("history")
    result, page = shown(
        made_up.write(
            folder / "runs",
            DAYS,
            factor,
            lambda day: {"onednn": "3.3" if day >= 15 else "3.2"},
            workloads=("alexnet", "seq2seq", "vgg"),
        ),
        folder / "page.html",
    )
    return result.stdout, page


def test_a_changed_profile_with_the_same_time_has_a_sentence(made):
    ((row, sentence),) = sentences(made[1], "profile")
    assert row == STEP and STEP not in dict(sentences(made[1]))
    found = re.match(
        r"has had another profile since 2026-01-16 00:00: conv2d takes ([\d.]+) % of the step instead of ([\d.]+) % "
        r"and matmul ([\d.]+) % instead of ([\d.]+) % \(cosine distance ([\d.]+), between runs of one level ([\d.e-]+), "
        r"means of 15 and 9 runs, p below 1e-12\), ",
        sentence,
    )
    numbers = [float(number) for number in found.groups()]
    assert numbers[:4] == pytest.approx([67.2, 60, 15, 20], abs=0.3)
    assert 0.005 < numbers[4] < 0.01 and numbers[5] < numbers[4] / 20
    assert f"{made_up.commit(14)[:10]}..{made_up.commit(15)[:10]}. " in sentence
    assert "No change of its time was found at this run." in sentence


def test_a_library_that_changed_at_the_same_run_is_mentioned(made):
    ((_, sentence),) = sentences(made[1], "profile")
    assert sentence.endswith(
        "Between these runs onednn changed from 3.2 to 3.3 (A), which may be the cause."
    )


def test_a_profile_that_changed_with_the_time_is_in_the_sentence_about_the_time(made):
    sentence = dict(sentences(made[1]))[SLOWER]
    assert re.search(
        r"Its profile changed, too \(cosine distance .*?\): lstm_cell takes 75[\d.]* % of the step instead of 70",
        sentence,
    )


def test_a_step_that_slows_down_evenly_keeps_its_profile(made):
    assert "profile" not in dict(sentences(made[1]))[SAME]


def test_changed_profiles_are_counted(made):
    assert made[0].rstrip().endswith("2 changes · 2 changes of profiles")


def test_changed_profiles_are_in_a_table(made):
    table = re.search(r'<section id="profiles.*?</section>', made[1], re.DOTALL)[0]
    rows = [
        [words(cell) for cell in re.findall("<td[^>]*>(.*?)</td>", row)]
        for row in re.findall("<tr><td.*?</tr>", table)
    ]
    assert {cells[1] for cells in rows} == {STEP, SLOWER}
    assert all(cells[0] == "2026-01-16 00:00" and cells[-1] == "A" for cells in rows)
    assert any(re.match(r"conv2d [\d.]+ → [\d.]+ %, matmul", cells[2]) for cells in rows)


def test_the_card_of_the_step_has_the_sentence_and_a_sign(made):
    card = re.search(f'data-name="{STEP}".*?</section>', made[1], re.DOTALL)[0]
    assert "1 change of the profile." in card and ">◆</text>" in card
    (sentence,) = re.findall('<li class="profile">(.*?)</li>', card)
    assert words(sentence).startswith("Has had another profile since")
    card = re.search(f'data-name="{SAME}".*?</section>', made[1], re.DOTALL)[0]
    assert "◆" not in card


def test_small_changes_of_profiles_can_be_ignored(tmp_path):
    folder = made_up.write(tmp_path / "runs", 24, factor)
    assert len(sentences(shown(folder, tmp_path / "page.html")[1], "profile")) == 1
    page = shown(folder, tmp_path / "page.html", "--smallest=10")[1]
    assert sentences(page, "profile") == []
