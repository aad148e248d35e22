"""The content of a comparison page: the machines, then for each pair of sides its figures and tables."""

import pathlib

from fathom_compare import machines, notes
from fathom_compare.means import sentences
from fathom_compare.shares import observation
from fathom_compare.tables import tables
from fathom_page import templates
from fathom_page.figure import Figure
from fathom_runs.words import plural

HERE = pathlib.Path(__file__).parent
SAME = "Settings that differ between the sides, or between the files of a side."


def page(sides, comparisons, figures, images):
    """The HTML of the page. `figures` holds a list per comparison, `images` the SVG of each figure by key."""
    settings = machines.settings(sides)
    return templates.page(
        "fathom_compare/compare.html",
        styles=[HERE / "compare.css"],
        kind="comparison",
        things="figures",
        heading=" · ".join(f"{side.letter}: {side.title}" for side in sides),
        facts=facts(sides, comparisons),
        notes=[*notes.notes(sides, settings), *notes.intervals(comparisons)],
        commands=[
            (f"{side.letter}, {context.get('date', 'no date')}", context.get("command_line", ""))
            for side in sides
            for context in side.contexts.values()
        ],
        above=[
            whole(key, title, what, frame)
            for key, title, what, frame in (
                ("machines", "Machines side by side", "", machines.machines(sides)),
                ("settings", "Settings that differ", SAME, settings),
            )
            if len(frame)
        ],
        pairs=[part(*one, images) for one in zip(comparisons, figures)],
        missing=[one for found in figures for one in found if not isinstance(one, Figure)],
    )


def facts(sides, comparisons):
    files = sum(len(side.contexts) for side in sides)
    found = [plural(files, "file")]
    for one in comparisons:
        of = f"{one.words}: " if len(comparisons) > 1 else ""
        found.append(
            f"{of}{plural(len(one.steps), 'step')} and {plural(len(one.ops), 'op row')} on both"
        )
    return found


def whole(key, title, what, frame):
    return {
        "key": key,
        "title": title,
        "what": what,
        "shown": frame,
        "data": frame,
        "is_open": True,
    }


def part(comparison, figures, images):
    """The sentences, figures and tables of one pair of sides."""
    shown = [one for one in figures if isinstance(one, Figure)]
    return {
        "title": comparison.words,
        "sentences": [*sentences(comparison), *filter(None, [observation(comparison)])],
        "figures": [(one, one.sentence.replace(" %", "\u00a0%"), images[one.key]) for one in shown],
        "tables": list(tables(comparison)),
    }
