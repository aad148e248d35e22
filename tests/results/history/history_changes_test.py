"""results/history: change points of series with known changes."""

import numpy as np
import pytest
from scipy.stats import ttest_ind

from fathom_history import context
from fathom_history.detection.changes import find
from fathom_history.machines import Series
from fathom_history.stack import layers
from fathom_page import svg

NOISE = np.array([0.3, -0.8, 1.1, -0.2, 0.6, -1.2, 0.1, 0.9, -0.5, -0.4])  # percent, for ten runs


def series(us, kind="step", label="matrix"):
    us = np.array(us, dtype=float)
    return Series("row", kind, us, us, us, (label,) * len(us))


def runs(*levels):
    """Noisy times around levels of (microseconds, number of runs)."""
    us = np.repeat([level for level, _ in levels], [count for _, count in levels])
    return us * (1 + np.resize(NOISE, len(us)) / 100)


def changes(us, smallest=2, max_p=0.001, correlation=0.0):
    return find(series(us), smallest, max_p, correlation)


def places(us, **options):
    return [change.run for change in changes(us, **options).changes]


@pytest.mark.parametrize("us", [[10] * 12, [1 / 3] * 40, [10, 11], [10]])
def test_equal_or_few_runs_have_no_change(us):
    assert places(us) == []


def test_every_change_is_found_with_its_means():
    found = changes(runs((100, 20), (130, 20), (110, 20)))
    assert [change.run for change in found.changes] == [20, 40] and found.outliers == []
    first, second = found.changes
    assert (first.old_us, first.new_us) == pytest.approx((100, 130), rel=0.005)
    assert first.percent == pytest.approx(30, abs=1) and first.p < 1e-12
    assert second.old == tuple(range(20, 40)) and second.new == tuple(range(40, 60))


def test_p_is_that_of_students_t_test():
    us = runs((100, 9), (110, 4))
    (change,) = changes(us).changes
    assert change.p == pytest.approx(ttest_ind(us[:9], us[9:]).pvalue)
    (other,) = changes(us, correlation=0.3).changes
    assert other.p > change.p, "runs that resemble each other tell less"


def test_a_single_different_run_is_an_outlier():
    found = changes(runs((100, 9), (140, 1), (100, 12)))
    assert found.changes == [] and found.outliers == [9]


def test_outliers_do_not_hide_a_change():
    us = runs((100, 20), (105, 20))
    us[[3, 11, 27, 33]] *= 1.4
    found = changes(us)
    assert [change.run for change in found.changes] == [20] and found.outliers == [3, 11, 27, 33]


def test_a_different_first_run_is_an_outlier():
    found = changes(runs((140, 1), (100, 15)))
    assert found.changes == [] and found.outliers == [0]


def test_two_runs_are_a_level():
    found = changes(runs((100, 10), (140, 2), (100, 10)))
    assert [change.run for change in found.changes] == [10, 12] and found.outliers == []


def test_a_clear_change_at_the_newest_run_is_found():
    assert places(runs((100, 20), (120, 1))) == [20]


def test_a_change_at_the_newest_run_needs_a_smaller_p_than_two_runs():
    us = runs((100, 10), (105, 1))
    found = changes(us, max_p=0.0001)
    assert found.changes == [] and found.outliers == [10]
    assert places(np.append(us, 105), max_p=0.0001) == [10]


def test_missing_runs_are_skipped():
    us = runs((100, 10), (120, 10))
    us[[4, 9, 10]] = np.nan
    (change,) = changes(us).changes
    assert change.old[-1] == 8 and change.run == 11


@pytest.mark.parametrize("smallest, found", [(2, [15]), (5, [])])
def test_small_changes_are_ignored(smallest, found):
    assert places(runs((100, 15), (104, 15)), smallest=smallest) == found


def test_a_row_that_returns_to_a_level_says_so():
    first, second = changes(runs((100, 10), (140, 5), (100.5, 10))).changes
    assert first.back_to is None and second.back_to == 9


def test_a_drift_is_no_clear_change():
    us = runs((100, 40)) * np.linspace(1, 1.2, 40)
    assert all(change.is_drift for change in changes(us).changes) and places(us)
    assert not changes(runs((100, 20), (120, 20))).changes[0].is_drift


# --- changes of the context


class Run:
    def __init__(self, **fields):
        self.context = fields


def test_a_missing_field_counts_as_unchanged():
    fields = [{"libtorch": "3.2"}, {}, {"libtorch": "3.2"}, {}, {"libtorch": "3.3"}]
    (mark,) = context.marks([Run(**one) for one in fields])
    assert (mark.run, mark.letter, mark.words) == (4, "A", "libtorch 3.2 → 3.3")


def test_a_peak_that_drifts_has_a_mark_and_noise_has_none():
    peaks = [100, 94, 106, 95, 105, 107, 109, 112, 113]
    found = context.marks([Run(peak_bytes_cpu_threads1=f"{peak} GB/s, copy") for peak in peaks])
    assert [mark.run for mark in found] == [7]


def test_fields_that_differ_in_every_run_have_no_mark():
    fields = [{"date": day, "git_commit": day, "host_name": day, "load_avg": day} for day in "abc"]
    assert context.marks([Run(**one) for one in fields]) == []


@pytest.mark.parametrize("number, text", [(0, "A"), (25, "Z"), (26, "AA"), (53, "BB")])
def test_marks_have_letters(number, text):
    assert context.letter(number) == text


# --- drawing


@pytest.mark.parametrize(
    "low, high", [(0, 1), (9.6, 10.4), (0, 1e-3), (95_000, 132_000), (3.1, 3.3)]
)
def test_axes_have_few_round_ticks(low, high):
    ticks = svg.Scale(low, high, 0, 100).ticks()
    assert 2 <= len(ticks) <= 6 and low <= ticks[0] and ticks[-1] <= high * (1 + 1e-9)
    assert np.ptp(np.diff(ticks)) == pytest.approx(0, abs=1e-9 * high)


def test_a_stack_shows_the_longest_types_and_the_others():
    types = {f"type{us}": series([us, us]) for us in range(1, 10)}
    types["view"] = types["framework"] = series([1, 2], label="framework")
    made = layers(types)
    names = [layer.name for layer in made]
    assert names == ["type9", "type8", "type7", "type6", "type5", "type4", "others"]
    assert sum(layer.us for layer in made).tolist() == [47, 49]
    assert len({layer.colour for layer in made}) == len(made)
