"""The content of a history page: one section per machine, with the changes first."""

import pathlib

from fathom_history import cards, latest, names, stack, tables
from fathom_history.detection import profiles
from fathom_history.detection.changes import NEWEST
from fathom_history.detection.limits import RATE
from fathom_page import templates
from fathom_runs.names import brief
from fathom_runs.words import plural

HERE = pathlib.Path(__file__).parent
REFUSED = 5  # files that are not runs and are listed with the reason
SIGNS = {"slower": "▲", "faster": "▼", "profile": stack.PROFILE}
KINDS = {"op": "Ops", "other": "Other rows"}  # titles of the tables of rows


def page(analyses, notes, smallest, limits):
    """The HTML of the page. `notes` are lines about the folder, `limits` the largest p by kind."""
    # With one machine, ids have no suffix and stay the same in later pages.
    keys = [f"-machine{number}" if number > 1 else "" for number in range(1, len(analyses) + 1)]
    return templates.page(
        "fathom_history/history.html",
        styles=[HERE / "history.css"],
        scripts=[HERE / "history.js"],
        kind="history",
        things="runs",
        heading=(analyses[0].machine.title if len(analyses) == 1 else f"{len(analyses)} machines"),
        facts=facts(analyses),
        notes=notes,
        smallest=f"{smallest:g}",
        rate=f"{100 * RATE:g}",
        limits=[(name, f"{max_p:.1g}") for name, max_p in limits.items()],
        newest=f"{NEWEST:g}",
        profile_runs=profiles.MIN_RUNS,
        machines=[machine(one, key, smallest) for one, key in zip(analyses, keys)],
    )


def no_runs(refused):
    """Yields notes about files that are not runs."""
    yield from (f"Not a run: {line}" for line in refused[:REFUSED])
    if more := len(refused[REFUSED:]):
        yield f"{plural(more, 'more file')} {'is not a run' if more == 1 else 'are not runs'}."


def facts(analyses):
    """Numbers of runs, rows and changes, and the dates."""
    runs = [run for one in analyses for run in one.machine.runs]
    count = sum(len(one.time_changes) for one in analyses)
    moved = sum(len(one.profile_changes) for one in analyses)
    first, last = (choice(runs, key=lambda run: run.date) for choice in (min, max))
    days = first.day if first.day == last.day else f"{first.day} to {last.day}"
    found = [plural(len(runs), "run"), days, *rows(analyses), plural(count, "change")]
    return found + [plural(moved, "change of a profile", "changes of profiles")] * bool(moved)


def rows(analyses):
    """Number of rows of each kind."""
    kinds = {"step": ("step",), "op": ("op",), "other": ("other row",)}
    for kind, words in kinds.items():
        names = {series.name for one in analyses for series in one.of_kind(kind)}
        if names:
            yield plural(len(names), *words)


def machine(one, key, smallest):
    """The section of one machine: changes, tables above the trends, trends, tables below."""
    of_rows = (tables.of_rows(one, key, kind, title) for kind, title in KINDS.items())
    above = [latest.table(one, key), tables.of_profiles(one, key), tables.of_marks(one, key)]
    below = [*of_rows, tables.of_runs(one, key)]
    steps = [series.name for series in one.of_kind("step")]
    return {
        "title": one.machine.title,
        "key": key,
        "latest": latest.section(one, key, smallest),
        "above": [table for table in above if table],
        "trends": cards.section(one, key),
        "below": [table for table in below if table],
        "rows": [
            (names.anchor(row, key), brief(row, steps), signs(one.changes_of(row))) for row in steps
        ],
    }


def signs(described):
    return "".join(SIGNS[one.change.sign] for one in described)
