"""results/history: changes of the profiles of made-up steps."""

import numpy as np
import pytest

from fathom_history.detection.levels import merged
from fathom_history.detection.profiles import find
from fathom_history.machines import Series

STEP = {"conv2d": 50.0, "matmul": 25.0, "relu": 15.0, "momentum": 7.0, "framework": 3.0}
OTHER = STEP | {"conv2d": 56.0, "matmul": 19.0}  # as long as STEP


def types(*steps, noise=0.01, seed=1, odd=()):
    """Series of op types: `steps` are times by op type, one per run, with relative noise. None is a run without rows.

    `odd` are runs in which relu takes twice as long.
    """
    random = np.random.default_rng(seed)
    names = list(dict.fromkeys(name for step in steps for name in step or ()))
    us = np.array([[(step or {}).get(name, np.nan) for name in names] for step in steps])
    us *= 1 + noise * random.standard_normal(us.shape)
    us[list(odd), names.index("relu")] *= 2
    labels = {"framework": "framework", "view": "framework"}
    return {
        name: Series(name, "inside", *[us[:, place]] * 3, (labels.get(name, "class"),) * len(us))
        for place, name in enumerate(names)
    }


def changes(types, smallest=2, max_p=0.0001, correlation=0.0):
    return find("row", types, smallest, max_p, correlation)


def places(*steps, smallest=2, **options):
    return [change.run for change in changes(types(*steps, **options), smallest)]


def test_a_change_of_the_profile_is_found_while_the_time_stays():
    found = types(*[STEP] * 15, *[OTHER] * 9)
    (change,) = changes(found)
    assert change.old == tuple(range(15)) and change.new == tuple(range(15, 24))
    assert change.p < 1e-6 and change.distance > 20 * change.noise > 0


def test_the_op_types_that_changed_most_are_named_with_their_shares():
    (change,) = changes(types(*[STEP] * 15, *[OTHER] * 9))
    found = {shift.op_type: (shift.old, shift.new) for shift in change.shifts}
    assert found == {
        "conv2d": pytest.approx((50, 56), abs=0.5),
        "matmul": pytest.approx((25, 19), abs=0.5),
    }


def test_the_distance_is_the_cosine_distance_between_the_mean_profiles():
    (change,) = changes(types(*[STEP] * 9, *[OTHER] * 9, noise=0))
    one, other = (np.array(list(step.values())) for step in (STEP, OTHER))
    cosine = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    assert change.distance == pytest.approx(1 - cosine, rel=1e-6) and change.noise < 1e-12


def test_a_change_of_all_times_by_one_factor_is_none_of_the_profile():
    slower = {name: 1.5 * us for name, us in STEP.items()}
    assert places(*[STEP] * 12, *[slower] * 12) == []


def test_every_change_is_found():
    third = STEP | {"conv2d": 44.0, "relu": 21.0}
    assert places(*[STEP] * 10, *[OTHER] * 10, *[third] * 10) == [10, 20]


def test_a_level_of_two_runs_is_found_with_its_end():
    assert places(*[STEP] * 10, *[OTHER] * 2, *[STEP] * 10) == [10, 12]


def test_an_op_type_that_appears_changes_the_profile():
    more = STEP | {"conv2d": 45.0, "copy": 5.0}
    (change,) = changes(types(*[STEP] * 10, *[more] * 5))
    assert {(shift.op_type, round(shift.old)) for shift in change.shifts} == {
        ("conv2d", 50),
        ("copy", 0),
    }


def test_the_class_framework_is_one_op_type():
    split = STEP | {"conv2d": 47.0, "view": 3.0}
    (change,) = changes(types(*[STEP] * 10, *[split] * 5))
    assert {shift.op_type for shift in change.shifts} == {"conv2d", "framework"}


def test_runs_without_op_types_are_skipped():
    assert places(*[STEP] * 8, None, *[STEP] * 2, None, *[OTHER] * 5) == [12]


@pytest.mark.parametrize("place", [0, 7, 15])
def test_a_single_odd_run_is_noise(place):
    assert places(*[STEP] * 16, odd=[place]) == []


def test_odd_runs_do_not_hide_a_change():
    assert places(*[STEP] * 15, *[OTHER] * 9, odd=[4, 18]) == [15]


def test_two_odd_runs_in_a_row_are_noise_if_odd_runs_are_frequent():
    assert places(*[STEP] * 24, odd=[10, 11]) == [10, 12]
    assert places(*[STEP] * 24, odd=[2, 6, 10, 11, 16, 20]) == []


@pytest.mark.parametrize(
    ["old", "new", "found"], [(5, 2, [5]), (4, 2, []), (6, 1, []), (3, 3, []), (1, 0, [])]
)
def test_a_change_needs_two_runs_of_each_level_and_seven_together(old, new, found):
    assert places(*[STEP] * old, *[OTHER] * new, noise=0.001) == found


@pytest.mark.parametrize("smallest, found", [(2, [10]), (8, [])])
def test_small_changes_are_ignored(smallest, found):
    assert places(*[STEP] * 10, *[OTHER] * 10, smallest=smallest) == found


def test_equal_runs_have_no_change():
    assert places(*[STEP] * 30, noise=0) == []


@pytest.mark.parametrize("noise", [0.01, 0.05])
def test_noise_gives_no_change(noise):
    """50 steps over 30 runs."""
    found = [places(*[STEP] * 30, noise=noise, smallest=0.1, seed=seed) for seed in range(50)]
    assert found == [[]] * 50


def test_noise_of_a_single_op_type_gives_no_change():
    """The noise with the heaviest tail: 50 steps over 30 runs, in which the time of conv2d varies."""
    random = np.random.default_rng(1)
    for _ in range(50):
        us = 50 * (1 + 0.05 * random.standard_normal(30))
        assert places(*[STEP | {"conv2d": one} for one in us], noise=0, smallest=0.1) == []


def test_the_most_similar_levels_are_merged_first():
    values = {(0, 1, 2, 3): [0.2, 0.5], (0, 1, 3): [0.0]}
    assert merged([0, 1, 2, 3], lambda bounds: values[tuple(bounds)], 0.01) == [0, 1, 3]
