"""results/fathom_runs/disturbed.py: which rows are disturbed, by the counters of a file."""

import pytest

from fathom_runs.benchmarks import Benchmark
from fathom_runs.disturbed import is_disturbed

ENTRY = {
    "run_name": "memnet/infer/device:cpu/threads:2/batch:32/precision:fp32/backend:torch",
    "run_type": "iteration",
    "time_unit": "us",
    "real_time": 1000.0,
    "iterations": 100,
}


@pytest.mark.parametrize(
    "counters, expected",
    [
        ({}, None),
        ({"stolen_us": 0, "waiting_us": 0, "disturbed_steps": 0}, False),
        ({"waiting_us": 99}, False),  # of two threads
        ({"waiting_us": 101}, True),
        ({"stolen_us": 60, "waiting_us": 60}, True),
        ({"stolen_us": 0, "standstill_us": 51}, True),
        ({"disturbed_steps": 49}, False),
        ({"disturbed_steps": 50}, True),
        # The run of which steps are few but long: 74 % of its time is lost in 11 % of its steps.
        ({"waiting_us": 1480, "disturbed_steps": 11}, True),
    ],
)
def test_a_row_is_disturbed_by_time_or_by_steps(counters, expected):
    assert is_disturbed(ENTRY | counters) is expected


def test_a_unit_of_time_changes_nothing():
    taken = {"waiting_us": 101}
    assert is_disturbed(ENTRY | taken | {"time_unit": "ms", "real_time": 1.0})
    assert not is_disturbed(ENTRY | taken | {"time_unit": "ms", "real_time": 2.0})


def test_aggregates_tell_lost_time_but_no_share_of_steps():
    aggregate = ENTRY | {"run_type": "aggregate", "iterations": 9}
    assert is_disturbed(aggregate | {"disturbed_steps": 50}) is None
    assert is_disturbed(aggregate | {"waiting_us": 101})


def test_a_row_is_disturbed_if_half_of_its_repetitions_are():
    quiet, disturbed = ENTRY | {"waiting_us": 0}, ENTRY | {"waiting_us": 500}
    assert Benchmark("row", [quiet, disturbed]).is_disturbed
    assert not Benchmark("row", [quiet, quiet, disturbed]).is_disturbed
