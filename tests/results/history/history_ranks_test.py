"""results/history: steps with ranks have their own charts."""

import re

import made_up_history as made_up
import made_up_ranks
import made_up_run
import pytest
from made_up_history import sentences

DAYS = 16
PLAIN = made_up_run.step_name("alexnet")
TWO = PLAIN.replace("/threads:1", "/threads:1/ranks:2")


def factor(row, day):
    """The step of two ranks slows down on day 9."""
    return 1.3 if row == TWO and day >= 9 else 1


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("history")
    made_up.write(folder / "runs", DAYS, factor, extra=made_up_ranks.rows(("alexnet",), (1, 2)))
    return made_up.shown(folder / "runs", folder / "page.html")[1]


def test_only_the_step_of_two_ranks_has_changed(page):
    assert list(dict(sentences(page))) == [TWO]


def test_the_number_of_ranks_is_in_the_title(page):
    titles = {title.strip() for title in re.findall(r'<a href="#[^"]*">(alexnet/train[^<]*)', page)}
    assert titles == {"alexnet/train", "alexnet/train, ranks 1", "alexnet/train, ranks 2"}
