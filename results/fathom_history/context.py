"""Changes of the machine and its libraries between runs. They can change times while the code stays the same."""

import re
from dataclasses import dataclass

from fathom_runs.context import is_peak, settings
from fathom_runs.peaks import MAX_CHANGE


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
    """All differences between a run and the runs before it. Charts show the letter."""

    run: int
    letter: str
    differences: list[Difference]

    @property
    def words(self):
        return "; ".join(one.words for one in self.differences)


def marks(runs):
    """Marks in the order of the runs. A missing field counts as unchanged. A peak is compared with its last mark."""
    found, known = [], {}
    for index, run in enumerate(runs):
        fields = {key: value for key, value in run.context.items() if is_compared(run, key)}
        differences = [
            Difference(key, str(known[key]), str(value))
            for key, value in fields.items()
            if key in known and differ(key, known[key], value)
        ]
        known = fields | known | {one.field: fields[one.field] for one in differences}
        if differences:
            found.append(Mark(index, letter(len(found)), differences))
    return found


def is_compared(run, key):
    return key in settings(run.context) or is_peak(key)


def differ(key, old, new):
    if not is_peak(key):
        return str(old) != str(new)
    old, new = leading_number(old), leading_number(new)
    return bool(old and new) and abs(new / old - 1) > MAX_CHANGE


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
