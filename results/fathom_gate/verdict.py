"""Tests which rows changed: first steps, then the ops of changed steps. Both tests control false discoveries."""

from dataclasses import dataclass
from enum import Enum

import numpy as np
from scipy.stats import false_discovery_control

from fathom_gate.shift import CONFIDENCE, Shift, min_p, percent
from fathom_gate.waivers import Waiver
from fathom_runs.names import TORCH, kind, setting, step_of, tokens


REGRESSION, NO_VERDICT = 1, 3  # exit codes


class Class(Enum):
    SLOWER = "SLOWER"
    FASTER = "FASTER"
    SAME = "SAME"
    AMBIGUOUS = "AMBIGUOUS"


@dataclass(frozen=True)
class Verdict:
    """The result of a row that both runs have."""

    name: str
    kind: str
    is_primary: bool  # tested independently of other rows
    base_us: float  # median over repetitions
    repetitions: tuple[int, int]  # of base and new
    shift: Shift
    floor: float  # minimum shift that is not noise; infinite if the noise is not known
    q: float  # p, adjusted for false discoveries
    row_class: Class
    waiver: Waiver | None = None

    @property
    def new_us(self):
        """base_us times the shift. Medians of both sides can be from different rounds while the machine drifts."""
        return self.base_us * float(np.exp(self.shift.effect))

    @property
    def percent(self):
        return percent(self.shift.effect)

    @property
    def changed(self):
        return self.row_class in (Class.SLOWER, Class.FASTER)

    @property
    def fails(self):
        """Whether the row makes the gate fail. A slower op only explains its slower step."""
        return self.is_slower and not self.is_waived

    @property
    def is_slower(self):
        return self.is_primary and self.row_class is Class.SLOWER

    @property
    def is_waived(self):
        return self.is_slower and self.waiver is not None and self.percent <= self.waiver.ceiling


@dataclass(frozen=True)
class Verdicts:
    """The result of a comparison."""

    rows: list[Verdict]  # in the order of the base
    untested: list[str]  # ops of steps that did not change
    added: list[str]  # rows that only the new run has
    vanished: dict[str, str]  # rows that the new run lacks, with the reason from its errors file
    failed: dict[str, str]  # other failures of the new run, with the reason
    failed_before: frozenset[str]  # rows that failed in the base
    most_undecided: float  # share of AMBIGUOUS rows; from it on there is no verdict

    def of(self, row_class):
        return [row for row in self.rows if row.row_class is row_class]

    @property
    def failing(self):
        return [row for row in self.rows if row.fails]

    @property
    def waived(self):
        return [row for row in self.rows if row.is_waived]

    @property
    def primary(self):
        return [row for row in self.rows if row.is_primary]

    @property
    def undecided(self):
        return [row for row in self.primary if row.row_class is Class.AMBIGUOUS]

    @property
    def newly_failed(self):
        return [name for name in self.failed if name not in self.failed_before]

    @property
    def regressed(self):
        return bool(self.failing or self.vanished or self.newly_failed)

    @property
    def exit_code(self):
        """A regression that was found counts, however many rows are undecided."""
        if self.regressed:
            return REGRESSION
        undecided = len(self.undecided)
        return (
            NO_VERDICT if undecided and undecided >= self.most_undecided * len(self.primary) else 0
        )


@dataclass(frozen=True)
class Rule:
    """When a row has changed, when it is the same, and when there is no verdict."""

    alpha: float = 0.05  # share of false discoveries
    smallest: float = np.log1p(0.02)  # smaller shifts are ignored
    same: float = np.log1p(0.05)  # larger shifts are ruled out in a row that is SAME
    most_undecided: float = 0.25  # share of AMBIGUOUS rows

    def floor(self, found):
        return max(self.smallest, found.half_width)


def judge(base, new, shifts, rule):
    """Compares all rows that both runs have. `shifts` holds the Shift of each."""
    common = list(shifts)
    floors = {name: rule.floor(found) for name, found in shifts.items()}
    primary, families = split(common)

    q = adjusted(primary, shifts)
    is_primary = set(primary)
    changed = [
        name for name in primary if is_change(shifts[name], q[name], floors[name], rule.alpha)
    ]
    # The families were selected with the same data, so their level is reduced by the selected share (Benjamini and
    # Bogomolov, JRSS B 76, 2014).
    selected = len(changed) / max(len(primary), 1)
    for step in changed:
        for name, value in adjusted(families.get(step, []), shifts).items():
            q[name] = min(q.get(name, 1.0), value / selected)

    def verdict(name):
        return Verdict(
            name,
            kind(name),
            name in is_primary,
            base.us(name),
            (base.repetitions(name), new.repetitions(name)),
            shifts[name],
            floors[name],
            q[name],
            class_of(shifts[name], q[name], floors[name], rule),
        )

    return Verdicts(
        [verdict(name) for name in common if name in q],
        [name for name in common if name not in q],
        only(new, base),
        {name: new.failed.get(name, "") for name in only(base, new)},
        {name: why for name, why in new.failed.items() if name not in only(base, new)},
        frozenset(base.failed),
        rule.most_undecided,
    )


def only(run, other):
    """Rows that `other` lacks. Op types inside steps don't count: they are part of the change of their step."""
    return [name for name in run.times if name not in other.times and kind(name) != "inside"]


def split(names):
    """Returns the primary rows, and for each step the family of its op types and ops.

    An op belongs to the steps on its backend. If there are none, to those on LibTorch: its rows on other libraries show
    what these would save there. Ops without such a step are primary.
    """
    steps = {name: [name] for name in names if kind(name) == "step"}
    by_backend = {}
    for step in steps:
        by_backend.setdefault((setting(step), tokens(step).get("backend")), []).append(step)
    primary, families = [], {}
    for name in names:
        owners = []
        if kind(name) == "inside":
            owners = steps.get(step_of(name)[0], [])
        elif kind(name) == "op":
            backends = (tokens(name).get("backend"), TORCH)
            found = (by_backend.get((setting(name), backend), []) for backend in backends)
            owners = next(filter(None, found), [])
        for step in owners:
            families.setdefault(step, []).append(name)
        if not owners:
            primary.append(name)
    return primary, families


def adjusted(names, shifts):
    """p by row, adjusted by the method of Benjamini and Hochberg."""
    if not names:
        return {}
    values = false_discovery_control([shifts[name].p for name in names])
    return dict(zip(names, map(float, values)))


def is_change(found, q, floor, alpha):
    return q <= alpha and abs(found.effect) > floor


def class_of(found, q, floor, rule):
    if is_change(found, q, floor, rule.alpha):
        return Class.SLOWER if found.effect > 0 else Class.FASTER
    return Class.SAME if max(-found.low, found.high) <= rule.same else Class.AMBIGUOUS


def can_detect(base, new, alpha, block=None):
    """Whether these times are enough to detect a change of the row: to get a small p and an interval."""
    return min_p(base, new, block) <= min(alpha, 1 - CONFIDENCE)


def too_few_repetitions(base, new, alpha, block=None):
    """Whether no row has enough repetitions to detect a change."""
    return not any(
        can_detect(base.times[name], new.times[name], alpha, block)
        for name in base.times
        if name in new.times
    )
