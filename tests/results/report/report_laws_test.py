"""Statistics of the report, and distances between profiles, on made-up data with known results."""

import math

import numpy as np
import pandas as pd
import pytest

from fathom_page.distances import cosine_distances
from fathom_report import laws

THREADS = np.array([1, 2, 4, 8])


def profiles(**rows):
    return pd.DataFrame(rows, index=["conv2d", "matmul", "mul"]).T


ALIKE = profiles(one=[9, 1, 0], twin=[90, 12, 0], other=[0, 1, 5], its_twin=[0, 2, 9])


def test_distance_is_one_minus_cosine():
    distances = cosine_distances(profiles(a=[1, 0, 0], b=[1, 1, 0]))
    assert distances.loc["a", "b"] == pytest.approx(1 - math.sqrt(0.5))


def test_distance_ignores_lengths():
    distances = cosine_distances(profiles(a=[1, 2, 3], b=[10, 20, 30]))
    assert distances.loc["a", "b"] == pytest.approx(0, abs=1e-12)


def test_distance_is_one_if_nothing_is_shared():
    assert cosine_distances(profiles(a=[1, 0, 0], b=[0, 0, 5])).loc["a", "b"] == 1


def test_distances_are_symmetric_with_an_empty_diagonal():
    distances = cosine_distances(ALIKE)
    assert (distances == distances.T).all(axis=None)
    assert (np.diag(distances) == 0).all()


def test_similar_rows_are_clustered():
    groups = laws.centroid_clustering(ALIKE).groups(0.3)
    assert {frozenset(group) for group in groups} == {
        frozenset({"one", "twin"}),
        frozenset({"other", "its_twin"}),
    }


def test_groups_are_adjacent_in_the_order():
    order = laws.centroid_clustering(ALIKE).order
    assert abs(order.index("one") - order.index("twin")) == 1
    assert abs(order.index("other") - order.index("its_twin")) == 1


def test_there_is_one_group_above_the_largest_height():
    clustering = laws.centroid_clustering(ALIKE)
    assert len(clustering.groups(2)) == 1


def test_the_height_of_a_pair_is_its_cosine_distance():
    (joined,) = laws.centroid_clustering(profiles(a=[1, 0, 0], b=[5, 5, 0])).linkage
    assert joined[2] == pytest.approx(1 - math.sqrt(0.5))


def test_centroids_are_means_of_normalised_vectors():
    # The long b has no more weight than the short a.
    clustering = laws.centroid_clustering(profiles(a=[1, 0, 0], b=[1000, 100, 0], c=[0, 0, 1]))
    assert clustering.linkage[1][2] == pytest.approx(1)
    middle = np.array([1, 0, 0]) + np.array([10, 1, 0]) / math.sqrt(101)
    clustering = laws.centroid_clustering(profiles(a=[1, 0, 0], b=[1000, 100, 0], c=[0, 1, 0]))
    assert clustering.linkage[1][2] == pytest.approx(1 - middle[1] / np.linalg.norm(middle))


@pytest.mark.parametrize("serial", [0, 0.1, 0.5, 1])
def test_amdahl_finds_the_serial_share(serial):
    fit = laws.fit_amdahl(THREADS, 700 * (serial + (1 - serial) / THREADS))
    assert fit.serial == pytest.approx(serial, abs=1e-3)
    assert fit.one == pytest.approx(700, rel=1e-3)


def test_a_better_fit_has_a_narrower_interval():
    clean = 700 * (0.2 + 0.8 / THREADS)
    widths = []
    for noise in (0.001, 0.02):
        fit = laws.fit_amdahl(THREADS, clean * (1 + noise * np.array([1, -1, -1, 1])))
        assert 0 <= fit.low <= 0.2 <= fit.high <= 1
        widths.append(fit.high - fit.low)
    assert widths[0] < widths[1] / 5


def test_amdahl_needs_three_thread_counts():
    assert laws.fit_amdahl([1, 2], [10, 6]) is None
    assert laws.fit_amdahl([1, 1, 2, 2], [10, 10, 6, 6]) is None
    assert laws.fit_amdahl([1, 2, 4], [10, 6, 4]) is not None


def test_amdahl_is_all_serial_if_threads_slow_down():
    assert laws.fit_amdahl(THREADS, [10, 11, 12, 13]).serial == pytest.approx(1, abs=1e-3)


def test_amdahl_extrapolates():
    fit = laws.fit_amdahl(THREADS, 700 * (0.1 + 0.9 / THREADS))
    assert fit.time(16) == pytest.approx(700 * (0.1 + 0.9 / 16))


@pytest.mark.parametrize("sigma, kappa", [(0, 0), (0.1, 0), (0.05, 0.02)])
def test_usl_finds_contention_and_coherence(sigma, kappa):
    threads = np.array([1, 2, 4, 8, 16])
    us = 300 * (1 + sigma * (threads - 1) + kappa * threads * (threads - 1)) / threads
    fit = laws.fit_usl(threads, us)
    assert fit.sigma == pytest.approx(sigma, abs=1e-3)
    assert fit.kappa == pytest.approx(kappa, abs=1e-4)


def test_usl_without_coherence_is_amdahl():
    us = 300 * (0.2 + 0.8 / THREADS)
    assert laws.fit_usl(THREADS, us).sigma == pytest.approx(
        laws.fit_amdahl(THREADS, us).serial, abs=1e-3
    )


def test_usl_needs_four_thread_counts():
    assert laws.fit_usl([1, 2, 4], [10, 6, 4]) is None


def test_usl_has_a_best_thread_count():
    assert laws.Usl(1, 0.05, 0.02).best_threads == pytest.approx(math.sqrt(0.95 / 0.02))
    assert laws.Usl(1, 0.05, 0).best_threads == math.inf


def test_cumulative_shares_start_with_the_largest():
    shares = laws.cumulative_shares(pd.Series({"small": 1, "large": 7, "middle": 2}))
    assert list(shares.index) == ["large", "middle", "small"]
    assert list(shares) == pytest.approx([70, 90, 100])


@pytest.mark.parametrize("share, count", [(70, 1), (71, 2), (90, 2), (95, 3), (100, 3)])
def test_counts_to_a_share(share, count):
    shares = laws.cumulative_shares(pd.Series([1, 7, 2]))
    assert laws.count_for(shares, share) == count


def test_coefficient_of_variation():
    assert laws.coefficient_of_variation([9, 10, 11]) == pytest.approx(10)
    assert math.isnan(laws.coefficient_of_variation([9]))


def test_a_trend_drifts():
    drift = laws.drift(np.arange(20) ** 3.0)
    assert drift.found and drift.rho == pytest.approx(1)


def test_noise_does_not_drift():
    values = np.random.default_rng(1).normal(100, 1, 200)
    assert not laws.drift(values).found


def test_one_outlier_is_not_drift():
    values = np.random.default_rng(1).normal(100, 1, 20)
    values[-1] = 1e6
    assert not laws.drift(values).found


def test_a_significant_but_weak_trend_is_not_drift():
    values = np.random.default_rng(1).normal(0, 1, 2000) + np.linspace(0, 0.6, 2000)
    drift = laws.drift(values)
    assert drift.p_value < 0.05 and not drift.found


def test_a_constant_series_does_not_drift():
    assert not laws.drift([5.0] * 20).found


def test_a_short_series_is_not_tested_for_drift():
    assert laws.drift([1, 2, 3]) is None


def test_geometric_mean():
    assert laws.geometric_mean([1, 100]) == pytest.approx(10)


def test_doublings():
    assert laws.doublings(8, 32) == 2
