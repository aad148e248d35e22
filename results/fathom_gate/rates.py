"""Error rates of verdicts, from trials on made-up suites (tests/results/verdict_trials.py)."""

import functools
import json
import pathlib
from dataclasses import dataclass

import numpy as np

from fathom_gate.shift import percent

FILE = pathlib.Path(__file__).with_name("rates.json")
USUAL = "normal, 1 %"  # the noise that power is stated for


@dataclass(frozen=True)
class Rates:
    """Of verdicts like this one. Percentages of suites."""

    suites: int
    rows: int  # of a suite
    judged: str  # by what: `9 rounds`
    by_noise: dict[str, dict]  # the fields of docs/gate.md by noise
    found_90_pct: float | None  # slow-down of a row of this comparison's median noise that 90 % would find

    @property
    def usual(self):
        return self.by_noise[USUAL]

    @property
    def worst_noise(self):
        return max(self.by_noise, key=lambda noise: self.by_noise[noise]["false_pct"])


@functools.cache
def known():
    return json.loads(FILE.read_text(encoding="utf-8"))


def alone():
    """The rates of two runs that are judged by their repetitions alone."""
    return known()["alone"]["1"][USUAL]


def rates_of(verdicts, program, count, smallest):
    """Those of `program` ("gate" or "ab") with the largest number of runs or rounds up to `count` that was tried.

    None if there was no trial with so few, or if no row can be judged.
    """
    tried = known()[program]
    counts = [one for one in sorted(map(int, tried)) if one <= count]
    widths = [row.shift.half_width for row in verdicts.primary]
    width = float(np.median(widths)) if widths else np.inf
    if not counts or not np.isfinite(width):
        return None
    by_noise = tried[str(counts[-1])]
    usual = by_noise[USUAL]
    found = usual["found_90_pct"]
    if found is not None:
        scaled = np.log1p(found / 100) * width / np.log1p(usual["half_width_pct"] / 100)
        found = percent(max(scaled, smallest))
    what = "rounds" if program == "ab" else "runs of the base"
    return Rates(known()["suites"], known()["rows"], f"{counts[-1]} {what}", by_noise, found)
