"""Which rows moved: false discoveries are controlled over the steps first, then over the ops of those that moved."""

from dataclasses import dataclass
from enum import Enum

import numpy as np
from scipy.stats import false_discovery_control

from fathom_gate.shift import Shift, least_p, percent, shift
from fathom_runs.names import kind, setting, step_of


class Class(Enum):
    SLOWER = "SLOWER"
    FASTER = "FASTER"
    SAME = "SAME"
    AMBIGUOUS = "AMBIGUOUS"


@dataclass(frozen=True)
class Verdict:
    """On a row that both runs have."""

    name: str
    kind: str
    first: bool  # tested whether or not other rows moved
    base_us: float  # the median
    repetitions: tuple[int, int]
    shift: Shift
    floor: float  # the least shift that counts here
    q: float  # p after the control of false discoveries
    judged: Class

    @property
    def new_us(self):
        """By the shift: where a machine drifts, a median is of other rounds on either side."""
        return self.base_us * float(np.exp(self.shift.effect))

    @property
    def percent(self):
        return percent(self.shift.effect)

    @property
    def moved(self):
        return self.judged in (Class.SLOWER, Class.FASTER)

    @property
    def fails(self):
        """An op that is slower explains its step, which fails for it."""
        return self.first and self.judged is Class.SLOWER


@dataclass(frozen=True)
class Judged:
    """What a comparison found."""

    rows: list[Verdict]  # in the base's order
    unseen: list[str]  # ops whose step did not move
    new: list[str]
    vanished: dict[str, str]  # with the reason, where the new run's errors file has one
    failed: dict[str, str]  # new ones, and repetitions of others

    def of(self, judged):
        return [row for row in self.rows if row.judged is judged]

    @property
    def slower(self):
        return [row for row in self.rows if row.fails]

    @property
    def regressed(self):
        return bool(self.slower or self.vanished)


@dataclass(frozen=True)
class Rule:
    """What counts as moved, and what as the same."""

    alpha: float = 0.05
    same: float = np.log1p(0.05)  # in a row that is SAME, a larger change would have been detected


def judge(base, new, noise, rule, block=None):
    """Compares all rows that both runs have; repetitions of a block are near in time."""
    common = [name for name in base.times if name in new.times]
    shifts = {name: shift(base.times[name], new.times[name], block) for name in common}
    floors = {name: noise.floor(name, shifts[name]) for name in common}
    first, families = levels(common)

    q = adjusted(first, shifts)
    seen_first = set(first)
    moved = [name for name in first if moves(shifts[name], q[name], floors[name], rule.alpha)]
    # Families that were chosen by a look at the data are held to a level that pays for the choice (Benjamini and
    # Bogomolov, JRSS B 76, 2014).
    paid = len(moved) / max(len(first), 1)
    for step in moved:
        for name, value in adjusted(families.get(step, []), shifts).items():
            q[name] = min(q.get(name, 1.0), value / paid)

    def verdict(name):
        return Verdict(
            name,
            kind(name),
            name in seen_first,
            float(np.median(base.times[name])),
            (len(base.times[name]), len(new.times[name])),
            shifts[name],
            floors[name],
            q[name],
            class_of(shifts[name], q[name], floors[name], rule),
        )

    return Judged(
        [verdict(name) for name in common if name in q],
        [name for name in common if name not in q],
        only(new, base),
        {name: new.failed.get(name, "") for name in only(base, new)},
        {name: why for name, why in new.failed.items() if name not in only(base, new)},
    )


def only(run, other):
    """Rows of one run alone; op types that a step was not seen to run are a part of the step's change."""
    return [name for name in run.times if name not in other.times and kind(name) != "inside"]


def levels(names):
    """The rows that are looked at first, and by step its op types and its ops alone.

    An op alone whose step was not measured is looked at first.
    """
    steps = {name: [name] for name in names if kind(name) == "step"}
    by_setting = {}
    for step in steps:
        by_setting.setdefault(setting(step), []).append(step)
    first, families = [], {}
    for name in names:
        owners = []
        if kind(name) == "inside":
            owners = steps.get(step_of(name)[0], [])
        elif kind(name) == "op":
            owners = by_setting.get(setting(name), [])
        for step in owners:
            families.setdefault(step, []).append(name)
        if not owners:
            first.append(name)
    return first, families


def adjusted(names, shifts):
    """p by row after Benjamini and Hochberg's control."""
    if not names:
        return {}
    values = false_discovery_control([shifts[name].p for name in names])
    return dict(zip(names, map(float, values)))


def moves(found, q, floor, alpha):
    return q <= alpha and abs(found.effect) > floor


def class_of(found, q, floor, rule):
    if moves(found, q, floor, rule.alpha):
        return Class.SLOWER if found.effect > 0 else Class.FASTER
    return Class.SAME if abs(found.effect) + floor <= rule.same else Class.AMBIGUOUS


def too_few_repetitions(base, new, alpha, block=None):
    """Whether no row has enough repetitions to detect a change."""
    return all(
        least_p(len(base.times[name]), len(new.times[name]), block) > alpha
        for name in base.times
        if name in new.times
    )
