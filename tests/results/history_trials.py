#!/usr/bin/env python3
"""Measures how often results/history finds changes in noise, and how soon it finds a planted change.

    tests/results/history_trials.py --folders=1000 --write

A folder has 30 runs, the noise of noises.py, and either 16 steps or 16 steps of five op types each and 64 ops. Every
change that its page shows is false. A planted change makes one step 5 % slower from its sixteenth run on. `--write`
puts the rates into docs/gate.md and onto the pages of results/history (results/fathom_history/rates.json).
"""

import argparse
import concurrent.futures
import datetime
import functools
import json
import pathlib
import sys

import numpy

if __name__ == "__main__":
    sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "results")]

import noises
from fathom_history.analysis import analysed
from fathom_history.detection.limits import limits
from fathom_history.machines import Machine, Series
from fathom_history.run import Run
from trial_rates import rate, table, write

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/gate.md"
NAME = "rates of results/history"
RATES = ROOT / "results/fathom_history/rates.json"
RUNS, STEPS, OPS = 30, 16, 64
FEWER = 4  # times fewer folders have ops, because these take ten times as long
SHARES = {"conv2d": 0.5, "matmul": 0.25, "relu": 0.15, "momentum": 0.07, "softmax": 0.03}
PLANTED, SLOWER = 15, 1.05  # run and factor
NEAR = 2  # runs between a planted change and one that is found
SOON = (1, 2, 3)  # runs of the new level
SMALLEST = 2  # percent, the default of --smallest
START = datetime.datetime(2026, 1, 1)
US = 10_000


def folder(noise, random, runs=RUNS, has_ops=False, slower=1.0):
    """The runs of one machine. The first step is `slower` from run PLANTED on."""
    dates = [START + datetime.timedelta(day) for day in range(runs)]
    made = [Run(f"{day}.json", date, {}, {}, (0, 0)) for day, date in enumerate(dates)]
    factors = [noises.processes(noise, random, runs) for _ in range(STEPS)]
    factors[0][PLANTED:] *= slower
    steps = [f"step{number}" for number in range(STEPS)]
    rows = [series(name, "step", factor) for name, factor in zip(steps, factors)]
    types = {}
    if has_ops:
        ops = (noises.processes(noise, random, runs) for _ in range(OPS))
        rows += [series(f"op{number}", "op", factor) for number, factor in enumerate(ops)]
        types = {step: op_types(noise, random, us) for step, us in zip(steps, factors)}
    return Machine("made-up", made, rows, types)


def op_types(noise, random, factors):
    """Op types of a step, each with noise of its own."""
    return {
        name: series(
            name, "inside", share * factors * noises.processes(noise, random, len(factors))
        )
        for name, share in SHARES.items()
    }


def series(name, kind, factors):
    us = US * factors
    return Series(name, kind, us, us, us, ("class",) * len(us))


def analysis(machine):
    return analysed(machine, SMALLEST, limits([machine]))


def false_changes(noise, folders, seed, has_ops=False):
    """The rate of folders whose page shows a change."""
    made = (
        folder(noise, numpy.random.default_rng([seed, one]), has_ops=has_ops)
        for one in range(folders)
    )
    return rate([bool(analysis(machine).changes) for machine in made])


def found(folders, seed, runs=RUNS, noise="normal, 1 %"):
    """The rate of folders of so many runs in which the planted change is found at its place."""
    flags = []
    for one in range(folders):
        machine = folder(noise, numpy.random.default_rng([seed, one]), runs, slower=SLOWER)
        places = [change.run for change in analysis(machine).found["step0"].changes]
        flags.append(any(abs(place - PLANTED) <= NEAR for place in places))
    return rate(flags)


def measured(noise, folders, seed):
    """Rates of pages of steps, of pages with ops, and of found changes."""
    return [
        false_changes(noise, folders, seed),
        false_changes(noise, folders // FEWER, seed, has_ops=True),
        *(found(folders, seed, PLANTED + new, noise) for new in SOON),
        found(folders, seed, RUNS, noise),
    ]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folders", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    measure = functools.partial(measured, folders=arguments.folders, seed=arguments.seed)
    rows, shares = [], {}
    with concurrent.futures.ProcessPoolExecutor() as pool:
        for noise, rates in zip(noises.NOISES, pool.map(measure, noises.NOISES)):
            rows.append([noise, *rates])
            shares[noise] = round(rates[1].share, 3)
            print(noise, *rates, sep=" | ", flush=True)
    if arguments.write:
        header = ["noise of the runs", "false change, 16 steps", "with profiles and 64 ops"]
        header += [f"5 % found after {new} {'run' if new == 1 else 'runs'}" for new in SOON]
        header += [f"after {RUNS - PLANTED}"]
        counts = (
            f"Of {arguments.folders:,} folders each, {arguments.folders // FEWER:,} with ops:\n\n"
        )
        write(PAGE, NAME, counts + table(header, rows))
        RATES.write_text(json.dumps(shares, indent=2) + "\n")


if __name__ == "__main__":
    main()
