"""results/history: steps on several backends are separate rows with their own op types."""

import re

import made_up_backends
import made_up_history as made_up
import made_up_run
import pytest
from made_up_history import sentences

DAYS = 16
TORCH = made_up_run.step_name("alexnet")
TUNED = TORCH.replace("backend:torch", "backend:tuned")


def factor(row, day):
    """The step on tuned slows down on day 9, and on the same day an op type of the step on torch by the same time."""
    if row == TUNED:
        return 1.3 if day >= 9 else 1
    return 1.3 if row == f"{TORCH}/op:conv2d" and day >= 9 else 1


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("history")
    tuned = made_up_backends.on("tuned", made_up_run.step("alexnet", profile=False), 0.6)
    made_up.write(folder / "runs", DAYS, factor, extra=tuned)
    return made_up.shown(folder / "runs", folder / "page.html")[1]


def test_a_step_on_tuned_is_not_explained_by_the_profile_of_torch(page):
    found = dict(sentences(page))
    assert "conv2d explains" in found[TORCH]
    assert "Its op types were not measured" in found[TUNED] and "conv2d" not in found[TUNED]


def test_each_backend_has_a_chart(page):
    titles = re.findall(r'<a href="#[^"]*">(alexnet/train[^<]*)', page)
    titles = {title.strip() for title in titles}
    assert titles == {"alexnet/train, backend torch", "alexnet/train, backend tuned"}
