"""Changes of the machine and its libraries from run to run: a row may change for them, not for the code."""

import re
from dataclasses import dataclass

from fathom_runs.context import SETTINGS, is_peak

PEAK = 10  # percent from which on a measured peak has changed


@dataclass(frozen=True)
class Difference:
    field: str
    old: str
    new: str

    @property
    def words(self):
        return f"{self.field} {self.old} → {self.new}"


@dataclass(frozen=True)
class Mark:
    """What changed at a run."""

    run: int
    letter: str
    differences: list[Difference]

    @property
    def words(self):
        return "; ".join(one.words for one in self.differences)


def marks(runs):
    """In the order of the runs. What a run lacks is as it was; a peak is compared with that of its last mark."""
    found, known = [], {}
    for index, run in enumerate(runs):
        fields = {key: value for key, value in run.context.items() if is_watched(key)}
        differences = [
            Difference(key, str(known[key]), str(value))
            for key, value in fields.items()
            if key in known and differ(key, known[key], value)
        ]
        known = fields | known | {one.field: fields[one.field] for one in differences}
        if differences:
            found.append(Mark(index, letter(len(found)), differences))
    return found


def is_watched(key):
    return key in SETTINGS or is_peak(key)


def differ(key, old, new):
    if not is_peak(key):
        return str(old) != str(new)
    old, new = leading_number(old), leading_number(new)
    return bool(old and new) and abs(new / old - 1) > PEAK / 100


def leading_number(text):
    found = re.match(r"[\d.]+(e[+-]?\d+)?", str(text))
    try:
        return float(found[0]) if found else None
    except ValueError:
        return None


def letter(number):
    """A to Z, then AA, AB and so on."""
    text = ""
    while number >= 0:
        text = chr(ord("A") + number % 26) + text
        number = number // 26 - 1
    return text
