"""Statistics of results/fathom_gate, compared with SciPy and with known results."""

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from fathom_gate.shift import Shift, min_p, null_distribution, orderings, percent, shift


def times(seed, *sizes, spread=0.05):
    """Random times around 1, one array per size."""
    random = np.random.default_rng(seed)
    return [np.exp(random.normal(0, spread, size)) for size in sizes]


@pytest.mark.parametrize("sizes", [(9, 9), (5, 7), (3, 9), (9, 4), (30, 25)])
def test_one_block_is_the_exact_mann_whitney_test(sizes):
    base, new = times(sum(sizes), *sizes)
    assert shift(base, new).p == pytest.approx(mannwhitneyu(new, base, method="exact").pvalue)


def test_orderings_are_counted_exactly():
    assert orderings(2, 2).tolist() == [1, 1, 2, 1, 1]
    assert orderings(9, 9).sum() == 48620


def test_blocks_are_compared_separately():
    # Three and three values have 20 orderings per block, so 1 of 20 ** 3 is the most extreme.
    nine, three = np.ones(9), np.ones(3)
    assert min_p(nine, nine, block=3) == pytest.approx(2 / 20**3)
    assert min_p(nine, nine) == pytest.approx(2 / 48620)
    assert min_p(three, three) == pytest.approx(0.1)


def test_drift_between_blocks_is_not_a_shift():
    base, new = times(1, 9, 9, spread=0.01)
    drift = np.repeat([1, 2, 4], 3)
    calm = shift(base, new, block=3)
    drifting = shift(base * drift, new * drift, block=3)
    assert (drifting.effect, drifting.p) == pytest.approx((calm.effect, calm.p))


@pytest.mark.parametrize("block", [None, 3])
def test_the_interval_contains_the_true_shift(block):
    found = [shift(*times(seed, 9, 9), block) for seed in range(400)]
    held = np.mean([one.low <= 0 <= one.high for one in found])
    assert 0.92 <= held < 1


def test_the_effect_is_a_ratio_of_times():
    base, new = times(3, 25, 25, spread=0.001)
    assert percent(shift(base, 1.1 * new).effect) == pytest.approx(10, abs=0.2)


def test_equal_times_are_no_change():
    same = np.ones(9)
    assert shift(same, same) == Shift(0, 0, 0, 1)


def test_too_few_repetitions_have_no_interval():
    found = shift(*times(4, 2, 2))
    assert (found.low, found.high) == (-np.inf, np.inf)


def test_blocks_that_one_side_lacks_are_left_out():
    base, new = times(5, 9, 6)
    assert shift(base, new, block=3) == shift(base[:6], new, block=3)


def test_missing_times_are_left_out_of_their_block():
    base, new = times(6, 6, 6)
    new[1] = np.nan
    found = shift(base, new, block=3)
    differences = [
        np.subtract.outer(np.log(new[s]), np.log(base[s])) for s in (slice(3), slice(3, 6))
    ]
    assert found.effect == pytest.approx(np.nanmedian(differences))
    assert min_p(base, new, block=3) == pytest.approx(2 / (10 * 20)), "2 and 3 times, 3 and 3"
    assert shift(base, new) == shift(base, np.delete(new, 1))


def test_times_without_a_common_block_are_no_evidence():
    base, new = times(7, 3, 6)
    new[:3] = np.nan
    assert shift(base, new, block=3) == Shift(0, -np.inf, np.inf, 1)


def test_the_null_distribution_sums_to_one():
    below, at_most, beyond = null_distribution(((3, 3), (3, 3), (2, 3)))
    assert at_most[-1] == pytest.approx(1) and below[0] == 0
