"""results/fathom_runs/words.py: lists and times in words."""

import pytest

from fathom_runs import words


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
