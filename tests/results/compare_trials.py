#!/usr/bin/env python3
"""Measures how often the intervals of results/compare hold the true ratio, and how wide they are, with made-up noise.

    .deps/results/bin/python tests/results/compare_trials.py
    .deps/results/bin/python tests/results/compare_trials.py --write

A trial is a row on two machines of equal speed, with one file a side and with FILES. A file is a process with nine
repetitions; its offset is that of noises.py, or none. --write puts the table into docs/compare.md.
"""

import argparse
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parent
sys.path[:0] = map(str, (TESTS, TESTS.parents[1] / "results"))

import noises
import numpy
from trial_rates import rate, table, write

from fathom_compare import interval

PAGE = TESTS.parents[1] / "docs/compare.md"
NAME = "coverage of intervals"
FILES, REPETITIONS = 3, 9
TRIALS, SEED = 1000, 0
RUN_OFFSETS = "normal, 1 %"
NONE = "none"
HEADER = [
    "runs differ by",
    "repetitions",
    "one file a side",
    f"{FILES} files a side",
    "median width",
]


def autocorrelated(offsets, random, count):
    """Factors of repetitions of 1 % that keep 80 % of the one before: [processes, count]."""
    steps = [noises.autocorrelated(random, count, 0.8) for _ in offsets]
    return offsets[:, None] * numpy.exp(steps)


# Offsets of runs, and what the repetitions of a run differ by, in words and as a function.
CASES = [(name, "independent, 0.5 %", noises.repetitions) for name in noises.NOISES]
CASES += [(name, "AR(1) 0.8, 1 %", autocorrelated) for name in (NONE, RUN_OFFSETS)]


def side(case, random, files):
    """Times of the files of a side: [files, repetitions]."""
    name, _, repetitions = case
    offsets = numpy.ones(files) if name == NONE else noises.processes(name, random, files)
    return repetitions(offsets, random, REPETITIONS)


def trials(case, files, count, seed):
    """The intervals of pairs whose true ratio is 1: [count, 2]."""
    intervals = []
    for index in range(count):
        random = numpy.random.default_rng([seed, index])
        base, other = (side(case, random, files) for _ in range(2))
        intervals.append(interval.of_speedup(list(base), list(other)))
    return numpy.array(intervals)


def held(intervals):
    """The Rate of the intervals that hold 1."""
    return rate((intervals[:, 0] <= 1) & (1 <= intervals[:, 1]))


def width(intervals):
    """The median of high / low, as a logarithm."""
    return float(numpy.median(numpy.log(intervals[:, 1] / intervals[:, 0])))


def best_width(case, files=FILES, count=20_000, seed=1):
    """The width of the narrowest interval of one width that holds the true ratio in 95 % of the pairs, if the noise is known.

    It stands around the means or around the medians of the files' medians, whichever is nearer to the truth.
    """
    random = numpy.random.default_rng(seed)
    logs = [
        [numpy.log(numpy.median(side(case, random, files), axis=1)) for _ in "ab"]
        for _ in range(count)
    ]
    errors = [numpy.diff(centre(logs, axis=2), axis=1) for centre in (numpy.mean, numpy.median)]
    return 2 * min(float(numpy.quantile(abs(one), interval.CONFIDENCE)) for one in errors)


def row(case, count, seed):
    one, several = (trials(case, files, count, seed) for files in (1, FILES))
    found = width(several)
    cells = f"{100 * found:.1f} %, {found / best_width(case):.1f} times the best"
    return [*case[:2], held(one), held(several), cells]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--write", action="store_true", help=f"also write {PAGE.name}")
    arguments = parser.parse_args()
    rows = [row(case, arguments.trials, arguments.seed) for case in CASES]
    text = table(HEADER, rows)
    print(text, end="")
    if arguments.write:
        write(PAGE, NAME, text)


if __name__ == "__main__":
    main()
