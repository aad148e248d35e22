"""results/ab --most-rounds: which rows go on, and that to go on finds changes, not chance."""

import numpy as np
import pytest

from fathom_ab.rounds import BLOCK, clear, enough
from fathom_gate.shift import shift

ROUNDS, MOST = 9, 45


def two_speeds(seed, slower_by=0.0, spread=0.1):
    """Times of a machine that runs at one of two speeds, `spread` apart, for either side."""
    draw = np.random.default_rng(seed)
    base, new = (
        np.exp(spread * draw.integers(2, size=MOST) + draw.normal(0, 0.01, MOST)) for _ in "ab"
    )
    return base, new * (1 + slower_by)


def rounds(base, new):
    return next((n for n in range(ROUNDS, MOST, BLOCK) if clear(base[:n], new[:n])), MOST)


def found(base, new, count):
    return shift(base[:count], new[:count], BLOCK).p <= 0.05


def test_a_quiet_row_stops():
    assert {rounds(*two_speeds(seed, spread=0.0)) for seed in range(20)} == {ROUNDS}


def test_a_quiet_row_stops_whether_it_moved_or_not():
    assert {rounds(*two_speeds(seed, 0.3, spread=0.0)) for seed in range(20)} == {ROUNDS}


def test_a_noisy_row_goes_on():
    assert np.median([rounds(*two_speeds(seed)) for seed in range(50)]) > 2 * ROUNDS


def test_going_on_finds_no_more_by_chance():
    rows = [two_speeds(seed) for seed in range(400)]
    assert np.mean([found(*row, rounds(*row)) for row in rows]) < 0.05


def test_going_on_finds_what_nine_rounds_miss():
    rows = [two_speeds(seed, 0.1) for seed in range(100)]
    assert np.mean([found(*row, ROUNDS) for row in rows]) < 0.8
    assert np.mean([found(*row, rounds(*row)) for row in rows]) > 0.98


def test_the_fastest_sample_counts_as_in_the_gate():
    quiet = [
        [{"run_name": "row", "time_unit": "us", "real_time": 1.0 + i, "min_us": 1.0}]
        for i in range(9)
    ]
    noisy = [[{"run_name": "row", "time_unit": "us", "real_time": 1.0 + i % 3}] for i in range(9)]
    assert enough(quiet, quiet, "row") and not enough(noisy, noisy, "row")


@pytest.mark.filterwarnings("error")
def test_what_is_shorter_than_the_clocks_tick_does_not_go_on():
    nothing = [[{"run_name": "row", "time_unit": "us", "real_time": 0.0}]] * 9
    assert enough(nothing, nothing, "row")
