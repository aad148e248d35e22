"""The changes, the newest run first, and a table of all changes."""

import itertools

import pandas as pd

from fathom_history import names, sentences
from fathom_page.templates import breakable
from fathom_runs.words import plural

GROUPS = 3  # runs whose changes are shown; those of earlier runs can be opened
LONGEST = 6  # sentences of one run that are shown at once
DISTURBED = 0.2  # of all rows
FEW = 10  # runs below which changes of a few percent are rarely detected


def section(analysis, key, smallest):
    """The newest runs' changes in sentences."""
    groups = [
        list(one) for _, one in itertools.groupby(analysis.changes, lambda one: one.change.run)
    ]
    shown = [group(analysis, key, one) for one in groups]
    return {
        "nothing": "" if groups else nothing(analysis, smallest),
        "groups": shown[:GROUPS],
        "earlier": shown[GROUPS:],
        "earlier_count": plural(sum(map(len, groups[GROUPS:])), "change"),
        "notes": [*disturbed(analysis), *missing(analysis.machine)],
    }


def nothing(analysis, smallest):
    runs = len(analysis.machine.runs)
    text = f"In {plural(runs, 'run')} no row has changed by {smallest:g} % or more."
    return text + (" So few runs tell only large changes." if runs < FEW else "")


def group(analysis, key, described):
    """The changes of one run."""
    run = analysis.machine.runs[described[0].change.run]
    marks = [mark for mark in analysis.marks if mark.run == described[0].change.run]
    main = [item(one, name(key, one.change)) for one in described if one.change.kind != "op"]
    ops = [item(one, name(key, one.change)) for one in described if one.change.kind == "op"]
    slower = sum(one["sign"] == "slower" for one in ops)
    return {
        "run": run.minute,
        "facts": [
            f"commit {run.commit}",
            run.file,
            *(f"{one.letter}: {one.words}" for one in marks),
        ],
        "main": main[:LONGEST],
        "more": main[LONGEST:],
        "more_count": plural(len(main) - LONGEST, "more row"),
        "ops": ops,
        "ops_count": f"{plural(len(ops), 'op')} alone: {slower} slower, {len(ops) - slower} faster",
    }


def item(described, lead=""):
    """A change as the template shows it: `lead`, then the sentence, which starts with a capital where it stands alone."""
    sentence = (
        described.sentence if lead else described.sentence[:1].upper() + described.sentence[1:]
    )
    sign = "slower" if described.change.percent > 0 else "faster"
    return {"sign": sign, "lead": lead, "sentence": sentence}


def name(key, change):
    """The row's, with a link to its trend where it has one."""
    return names.link(change.row, key) if change.kind == "step" else breakable(change.row)


def disturbed(analysis):
    """Runs in which many rows stand out alone."""
    for index, run in enumerate(analysis.machine.runs):
        rows = sum(index in found.aside for found in analysis.found.values())
        if rows > max(1, DISTURBED * len(analysis.found)):
            yield (
                f"The run of {run.minute} was disturbed: {plural(rows, 'row')} of "
                f"{len(analysis.found)} stand out in it alone, and are set aside there."
            )


def missing(machine):
    """Rows that the newest run does not have."""
    absent = [one.name for one in machine.series if one.name not in machine.runs[-1].rows]
    if absent:
        yield f"Not in the newest run: {plural(len(absent), 'row')}, for example {absent[0]}."


def table(analysis, key):
    """Every change, a row each."""
    runs = analysis.machine.runs
    rows = [
        {
            "run": runs[one.change.run].minute,
            "change_pct": one.change.percent,
            "row": one.change.row,
            "before_us": one.change.old_us,
            "after_us": one.change.new_us,
            "p": one.change.p,
            "runs since": len(one.change.new),
            "commits": sentences.commits(one.change, runs),
            "machine and libraries": ", ".join(
                mark.letter for mark in analysis.marks_at(one.change)
            ),
        }
        for one in analysis.changes
    ]
    if not rows:
        return None
    data = pd.DataFrame(rows)
    return {
        "key": f"changes{key}",
        "title": "All changes",
        "what": "Means of the runs before and since; p of Student's t-test. Letters are those of the trends.",
        "shown": data.assign(row=[name(key, one.change) for one in analysis.changes]),
        "data": data,
        "is_open": True,
    }
