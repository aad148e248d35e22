"""results/history: rates of false and of missed changes on made-up folders, and what the pages say about them."""

import re

import history_trials as trials
import numpy as np
import pytest

import noises
from fathom_history import doubt
from fathom_history.detection.changes import near
from fathom_history.detection.limits import RATE, limits
from fathom_history.detection.noise import correlation, inflation
from trial_rates import Rate, held

SEEDS = (101, 102, 103)
FOLDERS = 100


def over_seeds(measured):
    found = [measured(seed) for seed in SEEDS]
    return Rate(sum(one.hits for one in found), sum(one.trials for one in found))


@pytest.mark.parametrize("noise, most", [("normal, 1 %", RATE), ("AR(1) 0.5, 1 %", 0.2)])
def test_few_folders_have_a_false_change(noise, most):
    assert over_seeds(lambda seed: trials.false_changes(noise, FOLDERS, seed)).share <= most


def test_profiles_and_ops_count_into_the_rate():
    found = over_seeds(lambda seed: trials.false_changes("normal, 1 %", 10, seed, has_ops=True))
    assert found.may_be_at_most(RATE)


def test_a_change_of_five_percent_is_found_after_two_runs():
    found = over_seeds(lambda seed: trials.found(FOLDERS, seed, trials.PLANTED + 2))
    assert found.share >= 0.8


def test_the_limits_of_a_page_add_up_to_its_rate():
    machines = [
        trials.folder("normal, 1 %", np.random.default_rng(1), runs, has_ops=True)
        for runs in (8, 20)
    ]
    tests = {"times of steps": 16, "times of other rows": 64, "profiles of steps": 16}
    found = limits(machines)
    assert sum((7 + 19) * tests[kind] * p for kind, p in found.items()) == pytest.approx(RATE)


@pytest.mark.parametrize(
    "noise, low, high", [("normal, 1 %", 0, 0.1), ("AR(1) 0.8, 1 %", 0.45, 0.9)]
)
def test_the_correlation_of_runs_is_measured_beside_changes(noise, low, high):
    random = np.random.default_rng(1)
    rows = np.array([noises.processes(noise, random, 17) for _ in range(30)])
    rows[:, 15:] *= 1.2
    assert low <= correlation(map(near, rows)) <= high


def test_few_runs_do_not_show_a_correlation():
    random = np.random.default_rng(1)
    rows = [noises.processes("AR(1) 0.8, 1 %", random, 20) for _ in range(3)]
    assert correlation(map(near, rows)) == 0


def test_the_mean_of_correlated_runs_varies_more():
    random = np.random.default_rng(1)
    means = [noises.autocorrelated(random, 6, 0.5).mean() for _ in range(4000)]
    assert inflation(6, 0.5) == pytest.approx(6 * np.var(means) / noises.SPREAD**2, rel=0.1)
    assert inflation(6, 0.0) == 1


@pytest.mark.parametrize("noise", ["bimodal, 5 %", "AR(1) 0.5, 1 %", "sticky modes, 5 %"])
def test_a_page_names_the_noise_of_its_rows_with_its_rate(noise):
    machine = trials.folder(noise, np.random.default_rng(4))
    words = doubt.section(trials.analysis(machine))["words"]
    assert re.search(rf"{re.escape(noise)} \(of such pages [\d.]+ % show one\)", words)


def test_a_page_says_where_the_rate_does_not_hold():
    held_rate = trials.folder("normal, 1 %", np.random.default_rng(4))
    other = trials.folder("sticky modes, 5 %", np.random.default_rng(4))
    hint = "cannot hold its rate there"
    assert hint not in doubt.section(trials.analysis(held_rate))["words"]
    assert hint in doubt.section(trials.analysis(other))["words"]


def test_pages_state_the_rates_of_the_trials():
    table = held(trials.PAGE, trials.NAME)
    found = re.findall(r"^\| ([^|]*) \| [\d.]+ % [^|]* \| ([\d.]+) % ", table, re.MULTILINE)
    assert [noise for noise, _ in found] == list(noises.NOISES) == list(doubt.RATES)
    for (_, percent), share in zip(found, doubt.RATES.values()):
        assert float(percent) == pytest.approx(100 * share, abs=0.5)
