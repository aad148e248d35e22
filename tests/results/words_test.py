"""results/fathom_runs/words.py: lists, times and disturbed rows in words."""

import pytest

from fathom_runs import words


@pytest.mark.parametrize(
    "names, text",
    [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")],
)
def test_lists(names, text):
    assert words.listed(names) == text


def test_long_lists_are_shortened():
    assert words.listed("abcdef", most=3) == "a, b, c and 3 others"
    assert words.listed("abcd", most=3) == "a, b, c and d", "a single other name is written out"


@pytest.mark.parametrize(
    "us, text", [(0.5, "0.5 µs"), (999, "999 µs"), (1500, "1.5 ms"), (2.5e6, "2.5 s")]
)
def test_times_have_units(us, text):
    assert words.time_words(us) == text


@pytest.mark.parametrize("size, text", [(500, "0.5 kB"), (1.5e6, "1.5 MB"), (2e9, "2 GB")])
def test_sizes_have_units(size, text):
    assert words.size_words(size) == text


@pytest.mark.parametrize(
    "steps, ops, start",
    [
        ((36, 56), (80, 958), "36 of 56 steps and 80 of 958 ops were disturbed: "),
        ((1, 2), (0, 9), "1 of 2 steps was disturbed: "),
        ((0, 0), (3, 9), "3 of 9 ops were disturbed: "),
    ],
)
def test_disturbed_rows_are_counted(steps, ops, start):
    assert words.disturbed_words(steps, ops).startswith(start)


def test_without_disturbed_rows_there_is_no_sentence():
    assert words.disturbed_words((0, 56)) == ""
