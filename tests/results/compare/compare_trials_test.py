"""How often the intervals of results/compare hold the true ratio. compare_trials.py makes more trials."""

import compare_trials
import pytest
import trial_rates
from compare_trials import CASES, FILES, NONE, RUN_OFFSETS

from fathom_compare import interval

INDEPENDENT = [case for case in CASES if case[0] in (NONE, RUN_OFFSETS) or "tails" in case[0]]
WORDS = [", ".join(case[:2]) for case in INDEPENDENT]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("case", INDEPENDENT, ids=WORDS)
def test_three_files_a_side_hold_the_true_ratio(case, seed):
    intervals = compare_trials.trials(case, FILES, 100, seed)
    assert compare_trials.held(intervals).share >= 0.9
    assert compare_trials.width(intervals) <= 2 * compare_trials.best_width(case, count=1000)


def test_one_file_a_side_holds_it_as_rarely_as_the_page_says():
    case = next(case for case in CASES if case[0] == RUN_OFFSETS)
    found = compare_trials.held(compare_trials.trials(case, 1, 100, 1))
    assert found.low <= interval.HELD_BY_ONE / 100 <= found.high


def test_the_page_and_its_table_agree():
    lines = trial_rates.held(compare_trials.PAGE, compare_trials.NAME).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [row[:2] for row in cells[2:]] == [list(case[:2]) for case in CASES]
    assert cells[0] == compare_trials.HEADER
    (row,) = (row for row in cells if row[:2] == [RUN_OFFSETS, CASES[0][1]])
    assert [cell.split(" %")[0] for cell in row[2:4]] == [
        str(interval.HELD_BY_ONE),
        str(interval.HELD_BY_FILES),
    ]
