"""The newest changes in sentences, and a table of all changes."""

import itertools

import pandas as pd

from fathom_history import doubt, names, sentences
from fathom_page.templates import breakable
from fathom_runs.words import disturbed_words, plural

GROUPS = 3  # newest runs with changes that are shown; changes of earlier runs are folded
MAX_SENTENCES = 6  # sentences per run; the others are folded
DISTURBED = 0.2  # share of rows; with more outliers, a run counts as disturbed
FEW = 10  # with fewer runs, changes of a few percent are rarely found


def section(analysis, key, smallest):
    """Values for the template: the changes of the newest runs, and notes."""
    groups = [
        list(one) for _, one in itertools.groupby(analysis.changes, lambda one: one.change.run)
    ]
    shown = [group(analysis, key, one) for one in groups]
    return {
        "doubt": doubt.section(analysis),
        "no_changes": "" if groups else no_changes(analysis, smallest),
        "groups": shown[:GROUPS],
        "earlier": shown[GROUPS:],
        "earlier_count": plural(sum(map(len, groups[GROUPS:])), "change"),
        "notes": [*disturbed(analysis), *missing(analysis.machine)],
    }


def no_changes(analysis, smallest):
    runs = len(analysis.machine.runs)
    text = f"In {plural(runs, 'run')} no change of {smallest:g} % or more was found."
    return text + (" With so few runs, only large changes are found." if runs < FEW else "")


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
        "main": main[:MAX_SENTENCES],
        "more": main[MAX_SENTENCES:],
        "more_count": plural(len(main) - MAX_SENTENCES, "more row"),
        "ops": ops,
        "ops_count": f"{plural(len(ops), 'op')}: {slower} slower, {len(ops) - slower} faster",
    }


def item(described, lead=""):
    """A change for the template: `lead` (the name of the row) and the sentence, capitalised if there is no lead."""
    sentence = (
        described.sentence if lead else described.sentence[:1].upper() + described.sentence[1:]
    )
    return {"sign": described.change.sign, "lead": lead, "sentence": sentence}


def name(key, change):
    """The name of the row. A step links to its trend."""
    return names.link(change.row, key) if change.kind == "step" else breakable(change.row)


def disturbed(analysis):
    """Sentences about runs with many outliers, and about interference in the newest run."""
    for index, run in enumerate(analysis.machine.runs):
        rows = sum(index in found.outliers for found in analysis.found.values())
        if rows > max(1, DISTURBED * len(analysis.found)):
            yield (
                f"The run of {run.minute} was disturbed: {rows} of {plural(len(analysis.found), 'row')} "
                "are outliers there and are not used."
            )
    sentence = disturbed_words(analysis.machine.runs[-1].disturbed)
    if sentence:
        yield f"In the newest run: {sentence}"


def missing(machine):
    """A sentence about rows that the newest run lacks."""
    absent = [one.name for one in machine.series if one.name not in machine.runs[-1].rows]
    if absent:
        yield f"The newest run lacks {plural(len(absent), 'row')}, for example {absent[0]}."


def table(analysis, key):
    """The table of all changes of times, one row each. None without changes."""
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
        for one in analysis.time_changes
    ]
    if not rows:
        return None
    data = pd.DataFrame(rows)
    return {
        "key": f"changes{key}",
        "title": "Changes of times",
        "what": "before, after: means over the runs of the old and new level. p: Student's t. Letters: see "
        "Trends.",
        "shown": data.assign(row=[name(key, one.change) for one in analysis.time_changes]),
        "data": data,
        "is_open": True,
    }
