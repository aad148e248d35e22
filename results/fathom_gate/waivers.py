"""Waivers: rows that may be slower, up to a ceiling and until a date."""

import datetime
from dataclasses import dataclass, replace as with_fields

from fathom_runs.names import short
from fathom_runs.source import RunError, is_number
from fathom_runs.words import listed

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib


@dataclass(frozen=True)
class Waiver:
    row: str
    ceiling: float  # the largest change that is waived, in percent
    until: datetime.date  # the last day
    reason: str


def is_text(value):
    return isinstance(value, str) and bool(value.strip())


# What each key must hold, and the words for it.
KEYS = {
    "row": (is_text, "the name of a row, as the table shows it"),
    "ceiling": (
        lambda value: is_number(value) and value > 0,
        "a percentage above 0, such as 25 for a row that may be 25 % slower",
    ),
    "until": (
        lambda value: type(value) is datetime.date,
        "the last day, such as 2026-12-31, without quotes",
    ),
    "reason": (is_text, "a text, such as a link to an issue"),
}
EXPECTED = f"expected TOML with tables [[waiver]] of {listed(KEYS)}"


def read(path, today=None):
    """The waivers of a file. Raises RunError, also if one has expired."""
    today = today or datetime.datetime.now(datetime.timezone.utc).date()  # the same on all machines
    found = [
        checked(f"{path}: waiver {number}", one, today)
        for number, one in enumerate(tables(path), 1)
    ]
    names = [short(waiver.row) for waiver in found]
    for number, name in enumerate(names, 1):
        if name in names[: number - 1]:
            raise RunError(
                f"{path}: waiver {number}: is another one of {name!r}, expected one a row; remove one"
            )
    return found


def tables(path):
    try:
        value = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}, {EXPECTED}") from error
    except (ValueError, RecursionError) as error:  # of TOML or of UTF-8
        raise RunError(f"{path}: is not TOML ({error}), {EXPECTED}") from error
    found = value.pop("waiver", [])
    if value:
        raise RunError(f"{path}: has the key {next(iter(value))!r}, {EXPECTED}")
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise RunError(f"{path}: waiver is no list of tables, {EXPECTED}")
    return found


def checked(place, table, today):
    """The waiver of a table. `place` begins the words of a RunError."""
    for key in table:
        if key not in KEYS:
            raise RunError(f"{place}: has the key {key!r}, expected only {listed(KEYS)}")
    for key, (is_valid, words) in KEYS.items():
        if key not in table:
            raise RunError(f"{place}: has no {key}, expected {words}")
        if not is_valid(table[key]):
            raise RunError(f"{place}: {key} is {str(table[key])[:40]!r}, expected {words}")
    waiver = Waiver(**table)
    if waiver.until < today:
        raise RunError(
            f"{place}: expired on {waiver.until} ({short(waiver.row)!r}), expected a day from {today} on; fix the row, "
            "or decide anew and change `until`"
        )
    return waiver


def expect_rows(path, waivers, names):
    """Raises RunError if a waiver is for a row that no run has, which a misspelt name is."""
    known = set(map(short, names))
    for number, waiver in enumerate(waivers, 1):
        if short(waiver.row) not in known:
            raise RunError(
                f"{path}: waiver {number}: no run has the row {waiver.row!r}, expected "
                f"{KEYS['row'][1]}; correct or remove it"
            )


def waived(verdicts, waivers):
    """The verdicts with the waiver of each row that has one."""
    by_row = {short(waiver.row): waiver for waiver in waivers}
    rows = [with_fields(row, waiver=by_row.get(short(row.name))) for row in verdicts.rows]
    return with_fields(verdicts, rows=rows)
