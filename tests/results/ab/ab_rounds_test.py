"""results/ab --most-rounds: which rows get more rounds, and that more rounds add no false changes."""

import numpy as np
import pytest

from fathom_ab.rounds import BLOCK, enough, fewest, is_narrow
from fathom_gate.shift import shift
from fathom_gate.verdict import Rule

ROUNDS, MOST = 9, 45


def two_speeds(seed, slower_by=0.0, spread=0.1):
    """Times of both sides on a machine with two speeds, which differ by `spread`."""
    draw = np.random.default_rng(seed)
    base, new = (
        np.exp(spread * draw.integers(2, size=MOST) + draw.normal(0, 0.01, MOST)) for _ in "ab"
    )
    return base, new * (1 + slower_by)


def rounds(base, new):
    """Number of rounds that results/ab runs."""
    return next((n for n in range(ROUNDS, MOST, BLOCK) if is_narrow(base[:n], new[:n])), MOST)


def found(base, new, count):
    """Whether the first `count` rounds show a change."""
    return shift(base[:count], new[:count], BLOCK).p <= 0.05


def test_a_quiet_row_gets_no_more_rounds():
    assert {rounds(*two_speeds(seed, spread=0.0)) for seed in range(20)} == {ROUNDS}


def test_a_quiet_row_that_changed_gets_no_more_rounds():
    assert {rounds(*two_speeds(seed, 0.3, spread=0.0)) for seed in range(20)} == {ROUNDS}


def test_a_noisy_row_gets_more_rounds():
    assert np.median([rounds(*two_speeds(seed)) for seed in range(50)]) > 2 * ROUNDS


def test_a_row_gets_the_rounds_that_same_needs():
    base, new = two_speeds(1, spread=0.02)
    assert is_narrow(base[:9], new[:9]) and not is_narrow(base[:9], new[:9], Rule(same=0.01))


def test_more_rounds_add_no_false_changes():
    rows = [two_speeds(seed) for seed in range(400)]
    assert np.mean([found(*row, rounds(*row)) for row in rows]) < 0.05


def test_more_rounds_find_what_nine_rounds_miss():
    rows = [two_speeds(seed, 0.1) for seed in range(100)]
    assert np.mean([found(*row, ROUNDS) for row in rows]) < 0.8
    assert np.mean([found(*row, rounds(*row)) for row in rows]) > 0.98


def test_the_fastest_sample_is_used_as_in_the_gate():
    quiet = [
        [{"run_name": "row", "time_unit": "us", "real_time": 1.0 + i, "min_us": 1.0}]
        for i in range(9)
    ]
    noisy = [[{"run_name": "row", "time_unit": "us", "real_time": 1.0 + i % 3}] for i in range(9)]
    assert enough(quiet, quiet, "row") and not enough(noisy, noisy, "row")


def test_both_sides_are_compared_by_their_means_if_one_lacks_its_fastest_samples():
    means = [[{"run_name": "row", "time_unit": "us", "real_time": 1.0 + i % 3}] for i in range(9)]
    fastest = [[entry | {"min_us": 1.0} for entry in run] for run in means]
    quiet = [[entry | {"real_time": 1.0} for entry in run] for run in means]
    assert enough(fastest, fastest, "row") and not enough(fastest, quiet, "row")


def test_the_fewest_rounds_are_those_that_can_show_a_change():
    base = np.arange(1.0, 9)
    found = [shift(base[:n], 100 * base[:n], BLOCK).p <= 0.05 for n in range(1, 9)]
    assert found.index(True) + 1 == fewest() == 4 and all(found[3:])


@pytest.mark.filterwarnings("error")
def test_a_row_below_the_clocks_resolution_gets_no_more_rounds():
    nothing = [[{"run_name": "row", "time_unit": "us", "real_time": 0.0}]] * 9
    assert enough(nothing, nothing, "row")
