"""results/fathom_gate: its statistics beside SciPy's, and on made-up times whose answers are known."""

import pathlib

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from fathom_gate.noise import Noise, between
from fathom_gate.rows import Rows
from fathom_gate.shift import Shift, least_p, null_distribution, orderings, percent, shift


def draws(seed, *sizes, spread=0.05):
    draw = np.random.default_rng(seed)
    return [np.exp(draw.normal(0, spread, size)) for size in sizes]


@pytest.mark.parametrize("sizes", [(9, 9), (5, 7), (3, 9), (9, 4), (30, 25)])
def test_one_block_is_the_exact_test_of_mann_and_whitney(sizes):
    base, new = draws(sum(sizes), *sizes)
    assert shift(base, new).p == pytest.approx(mannwhitneyu(new, base, method="exact").pvalue)


def test_orders_are_counted_exactly():
    assert orderings(2, 2).tolist() == [1, 1, 2, 1, 1]
    assert orderings(9, 9).sum() == 48620


def test_blocks_are_compared_apart():
    # Every order of three and three values is as likely in each of three blocks: 1 of 20 ** 3 is the most extreme.
    assert least_p(9, 9, block=3) == pytest.approx(2 / 20**3)
    assert least_p(9, 9) == pytest.approx(2 / 48620)
    assert least_p(3, 3) == pytest.approx(0.1)


def test_what_drifts_between_blocks_is_no_shift():
    base, new = draws(1, 9, 9, spread=0.01)
    drift = np.repeat([1, 2, 4], 3)
    calm = shift(base, new, block=3)
    drifting = shift(base * drift, new * drift, block=3)
    assert (drifting.effect, drifting.p) == pytest.approx((calm.effect, calm.p))


@pytest.mark.parametrize("block", [None, 3])
def test_the_interval_holds_the_truth(block):
    found = [shift(*draws(seed, 9, 9), block) for seed in range(400)]
    held = np.mean([one.low <= 0 <= one.high for one in found])
    assert 0.92 <= held < 1


def test_the_effect_is_a_ratio_of_times():
    base, new = draws(3, 25, 25, spread=0.001)
    assert percent(shift(base, 1.1 * new).effect) == pytest.approx(10, abs=0.2)


def test_equal_times_are_no_change():
    same = np.ones(9)
    assert shift(same, same) == Shift(0, 0, 0, 1)


def test_few_repetitions_have_no_interval():
    found = shift(*draws(4, 2, 2))
    assert (found.low, found.high) == (-np.inf, np.inf)


def test_unequal_blocks_leave_out_what_one_side_lacks():
    base, new = draws(5, 9, 7)
    assert shift(base, new, block=3) == shift(base[:7], new, block=3)


def rows(times):
    return Rows(pathlib.Path("run.json"), {}, times)


def test_the_factor_is_how_much_runs_differ_beyond_their_repetitions():
    base, again = {}, {}
    for seed in range(60):
        calm, other = draws(seed, 9, 9, spread=0.01)
        base[str(seed)] = calm
        again[str(seed)] = other * (1.1 if seed % 2 else 1 / 1.1)
    quiet = between(rows(base), [rows({name: one[::-1] for name, one in base.items()})], 0.02)
    assert 1 <= quiet.factor < 3
    noisy = between(rows(base), [rows(again)], 0.02)
    assert noisy.rows == 60 and 20 < noisy.factor < 80
    assert noisy.seen["1"] == pytest.approx(np.log(1.1), abs=0.02)


def test_the_floor_is_the_largest_of_three():
    found = Shift(0, -0.01, 0.03, 1)
    assert Noise(0.05).floor("a", found) == 0.05
    assert Noise(0.01, factor=4).floor("a", found) == pytest.approx(0.08)
    assert Noise(0.01, factor=1, seen={"a": 0.07}).floor("a", found) == 0.07


def test_the_null_distribution_sums_to_one():
    below, at_most = null_distribution(((3, 3), (3, 3), (2, 3)))
    assert at_most[-1] == pytest.approx(1) and below[0] == 0
