"""Rates of wrong verdicts on made-up suites: few suites here, 1,000 in docs/gate.md (verdict_trials.py)."""

import pathlib

import pytest
import trial_rates
import verdict_trials
from verdict_trials import NOISES, changed, unchanged

from fathom_gate import rates

SEEDS = (101, 202, 303)
SUITES = 34  # of each seed
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/gate.md"


def pooled(trial, *setting):
    found = [trial(*setting, SUITES, seed) for seed in SEEDS]
    return trial_rates.Rate(sum(one.hits for one in found), sum(one.trials for one in found))


@pytest.mark.parametrize(
    "program, count, limit", [("gate", 2, 0.05), ("gate", 4, 0.05), ("ab", 9, 0.02)]
)
@pytest.mark.parametrize("noise", NOISES)
def test_few_suites_have_a_false_slower(noise, program, count, limit):
    found = pooled(unchanged, program, noise, count)
    assert found.may_be_at_most(limit), found


@pytest.mark.parametrize("program, count, least", [("gate", 4, 0.6), ("ab", 9, 0.9)])
def test_a_row_5_percent_slower_is_found(program, count, least):
    found = pooled(changed, program, "normal, 1 %", count)
    assert found.may_be_at_least(least), found


# --- the rates that outputs and the page state


def test_the_stated_rates_hold_the_limits():
    for program, limit in (("gate", 5), ("ab", 2)):
        for by_noise in rates.known()[program].values():
            assert by_noise.keys() == NOISES.keys()
            assert all(one["false_pct"] <= limit for one in by_noise.values())
    assert rates.known()["gate"]["4"]["normal, 1 %"]["found_pct"] >= 60
    assert rates.known()["ab"]["9"]["normal, 1 %"]["found_pct"] >= 90
    assert rates.known()["suites"] == verdict_trials.SUITES


def test_the_pages_tables_are_the_stated_rates():
    for name, text in verdict_trials.tables(rates.known()).items():
        assert trial_rates.held(PAGE, name) == text
