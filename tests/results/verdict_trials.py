#!/usr/bin/env python3
"""Rates of wrong verdicts of results/gate and results/ab on made-up suites, under each noise of noises.py.

    .deps/results/bin/python tests/results/verdict_trials.py            # 1,000 suites: prints the rates
    .deps/results/bin/python tests/results/verdict_trials.py --write    # also into docs/gate.md and rates.json

A suite has 40 rows. Each row of a process has nine repetitions; its processes differ by the noise, independently of other
rows. Without a change, a SLOWER row is a false alarm. Then the new build's first row is slower. gate_trials.py does the
same with programs on this machine.
"""

import argparse
import bisect
import itertools
import json
import math
import pathlib
import sys
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/results"), str(ROOT / "results")]

import numpy as np

import noises
from fathom_gate import rates, runs
from fathom_gate.rows import Rows
from fathom_gate.shift import of_rounds, shift
from fathom_gate.verdict import NO_VERDICT, Class, Rule, judge
from fathom_ab.rounds import BLOCK
from trial_rates import Rate, rate, table, write

ROWS, REPETITIONS, SUITES = 40, 9, 1000
CHANGE = 5  # percent
NAMES = [f"BM_{index}" for index in range(ROWS)]


def unequal(random, processes):
    """Normal noise of another spread for each row, from 0.3 to 4 % in nineteen of twenty."""
    return np.exp(0.7 * random.standard_normal()) * noises.normal(random, processes)


NOISES = noises.NOISES | {"unequal rows, 1 %": unequal}
# What is tried: runs of the base for results/gate, rounds of results/ab.
ALONE, GATE, AB = (1,), (2, 3, 4), (4, 9, 27)
FOUND = 0.9  # the power of the change that is looked for
GRID = (2.25, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5, 8, 9, 10, 12, 15, 20, 30, 50)  # percent


def processes(noise, random, count):
    """Factors of the times of consecutive processes: [rows, count]."""
    return np.exp([NOISES[noise](random, count) for _ in NAMES])


def rows(times):
    """A run from times [rows, repetitions]."""
    return Rows(pathlib.Path("made-up.json"), {}, dict(zip(NAMES, times)))


def judged_alone(base, new):
    """What the repetitions of two processes say, without the noise between processes: not a verdict of the gate."""
    return judge(
        base, new, {name: shift(base.times[name], new.times[name]) for name in NAMES}, Rule()
    )


class Gate:
    """Runs of the base, then one of the new build. Each run is a process."""

    def __init__(self, noise, count, random):
        offsets = processes(noise, random, count + 1)
        times = np.array([noises.repetitions(one, random, REPETITIONS) for one in offsets])
        self.files = [rows(times[:, index]) for index in range(count + 1)]

    def verdicts(self, slower=0.0):
        *bases, new = self.files
        new = with_slower_row(new, slower)
        if len(bases) == 1:
            return judged_alone(bases[0], new)
        return judge(bases[0], new, runs.shifts(bases, new)[0], Rule())


class Ab:
    """Rounds of two builds in turn: A B, B A, A B, ... Each round is a process."""

    def __init__(self, noise, count, random):
        factors = processes(noise, random, 2 * count)
        factors *= np.exp(noises.WITHIN / 3 * random.standard_normal(factors.shape))
        first = np.arange(0, 2 * count, 2) + np.arange(count) % 2  # the processes of A
        self.base, self.new = rows(factors[:, first]), rows(np.delete(factors, first, axis=1))
        self.shifts = of_rounds(self.base, self.new, BLOCK)

    def verdicts(self, slower=0.0):
        new, found = self.new, self.shifts
        if slower:
            new = with_slower_row(new, slower)
            changed = shift(self.base.times[NAMES[0]], new.times[NAMES[0]], BLOCK)
            found = found | {NAMES[0]: changed}
        return judge(self.base, new, found, Rule())


def with_slower_row(run, slower):
    first = {NAMES[0]: run.times[NAMES[0]] * np.exp(slower)}
    return Rows(run.path, run.context, run.times | first)


PROGRAMS = {"alone": (Gate, ALONE), "gate": (Gate, GATE), "ab": (Ab, AB)}


def suites(program, noise, count, number, seed):
    """Made-up suites. Each has a random generator of its own."""
    kind, index = PROGRAMS[program][0], list(NOISES).index(noise)
    for suite in range(number):
        yield kind(noise, count, np.random.default_rng([seed, index, count, suite]))


def is_found(suite, change):
    """Whether a row is found that is slower by `change` percent."""
    return suite.verdicts(np.log1p(change / 100)).rows[0].row_class is Class.SLOWER


def unchanged(program, noise, count, number=SUITES, seed=1):
    """The rate of suites with a false SLOWER."""
    tried = suites(program, noise, count, number, seed)
    return rate([bool(suite.verdicts().failing) for suite in tried])


def changed(program, noise, count, number=SUITES, seed=1):
    """The rate of suites in which a row is found that is 5 % slower."""
    return rate([is_found(suite, CHANGE) for suite in suites(program, noise, count, number, seed)])


@dataclass
class Trial:
    """The suites of one setting."""

    false: list = field(default_factory=list)  # whether a suite has a false SLOWER
    undecided: list = field(default_factory=list)  # whether it has no verdict
    found: list = field(default_factory=list)  # whether its slower row is found
    least: list = field(
        default_factory=list
    )  # place in GRID of the smallest change that is found, of some suites
    widths: list = field(default_factory=list)  # half widths of intervals

    def add(self, suite, is_searched):
        judged = suite.verdicts()
        self.false.append(bool(judged.failing))
        self.undecided.append(judged.exit_code == NO_VERDICT)
        self.widths += [row.shift.half_width for row in judged.rows]
        self.found.append(is_found(suite, CHANGE))
        if is_searched:
            place = bisect.bisect_left(GRID, True, key=lambda change: is_found(suite, change))
            self.least.append(place)

    @property
    def found_by_most(self):
        """The smallest slow-down in percent that 90 % of suites find. None if it is beyond GRID."""
        place = sorted(self.least)[math.ceil(FOUND * len(self.least)) - 1]
        return GRID[place] if place < len(GRID) else None

    def document(self):
        false = rate(self.false)
        return {
            "false_pct": round(100 * false.share, 2),
            "false_high_pct": round(100 * false.high, 2),
            "no_verdict_pct": round(100 * rate(self.undecided).share, 2),
            "found_pct": round(100 * rate(self.found).share, 2),
            "found_90_pct": self.found_by_most,
            "half_width_pct": round(100 * float(np.expm1(np.median(self.widths))), 3),
        }


def measured(programs, number, seed):
    """What rates.json holds of these programs."""
    document = {"suites": number, "rows": ROWS, "change_pct": CHANGE}
    settings = [(program, count) for program in programs for count in PROGRAMS[program][1]]
    for (program, count), noise in itertools.product(settings, NOISES):
        trial = Trial()
        for index, suite in enumerate(suites(program, noise, count, number, seed)):
            trial.add(suite, is_searched=index % 4 == 0)
        found = trial.document()
        print(program, count, noise, found, flush=True)
        document.setdefault(program, {}).setdefault(str(count), {})[noise] = found
    return document


# Columns of the page: program and number of runs or rounds, with a heading.
SHOWN = {
    ("gate", 2): "`gate`, 1 noise file",
    ("gate", 4): "`gate`, 4 base runs",
    ("ab", 9): "`ab`, 9 rounds",
    ("ab", 27): "`ab`, 27 rounds",
}


def tables(document):
    """Tables of the page, by the name of their place."""

    def of(words):
        lines = [
            [noise, *(words(document[program][str(count)][noise]) for program, count in SHOWN)]
            for noise in NOISES
        ]
        return table(["noise of processes", *SHOWN.values()], lines)

    def share(found, field):
        return Rate(round(found[field] * document["suites"] / 100), document["suites"])

    return {
        "false alarms": of(lambda found: share(found, "false_pct")),
        "power": of(lambda found: f"{share(found, 'found_pct')}; {size_words(found)}"),
        "no verdict": of(lambda found: share(found, "no_verdict_pct")),
    }


def size_words(found):
    return f"+{found['found_90_pct']:g} %" if found["found_90_pct"] else f"above +{GRID[-1]} %"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--suites", type=int, default=SUITES)
    add("--seed", type=int, default=1)
    add("--only", choices=PROGRAMS, help="measure this program; the rates of others stay")
    add("--write", action="store_true", help="write rates.json and the tables of docs/gate.md")
    arguments = parser.parse_args()
    programs = [arguments.only] if arguments.only else list(PROGRAMS)
    found = measured(programs, arguments.suites, arguments.seed)
    if arguments.write:
        document = rates.known() | found
        rates.FILE.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        for name, text in tables(document).items():
            write(ROOT / "docs/gate.md", name, text)


if __name__ == "__main__":
    main()
