"""What changed, the newest run first, and a table of all changes."""

import itertools
from html import escape

import pandas as pd

from fathom_history import names, sentences
from fathom_history.lists import folded, item, listed
from fathom_report import parts
from fathom_report.table import Html
from fathom_runs.words import plural

GROUPS = 3  # runs whose changes are shown; those of earlier runs can be opened
LONGEST = 6  # sentences of one run that are shown at once
DISTURBED = 0.2  # of all rows
FEW = 10  # runs below which changes of a few percent are rarely told


def section(analysis, key, smallest):
    """The newest runs' changes in sentences."""
    groups = [list(one) for _, one in itertools.groupby(analysis.told, lambda one: one.change.run)]
    shown = [group(analysis, key, one) for one in groups]
    body = "\n".join(shown[:GROUPS]) or f"<p>{nothing(analysis, smallest)}</p>"
    if shown[GROUPS:]:
        count = plural(sum(map(len, groups[GROUPS:])), "change")
        body += folded(f"{count} in earlier runs", "\n".join(shown[GROUPS:]))
    for note in (*disturbed(analysis), *missing(analysis.machine)):
        body += f'<p class="source">{escape(note)}</p>'
    return f'<section id="latest{key}"><h2>What changed</h2>\n{body}\n</section>'


def nothing(analysis, smallest):
    runs = len(analysis.machine.runs)
    text = f"In {plural(runs, 'run')} no row has changed by {smallest:g} % or more."
    return text + (" So few runs tell only large changes." if runs < FEW else "")


def group(analysis, key, told):
    """The changes of one run."""
    run = analysis.machine.runs[told[0].change.run]
    marks = [mark for mark in analysis.marks if mark.run == told[0].change.run]
    facts = [f"commit {run.commit}", run.file, *(f"{mark.letter}: {mark.words}" for mark in marks)]
    main = [item(one, name(key, one.change)) for one in told if one.change.kind != "op"]
    ops = [item(one, name(key, one.change)) for one in told if one.change.kind == "op"]
    html = f"<h3>{run.minute}</h3>\n<p class=\"source\">{escape(' · '.join(facts))}</p>"
    html += listed("changes", main[:LONGEST])
    if main[LONGEST:]:
        html += folded(
            f"{plural(len(main) - LONGEST, 'more row')}", listed("changes", main[LONGEST:])
        )
    if ops:
        slower = sum(one.change.percent > 0 for one in told if one.change.kind == "op")
        counts = f"{slower} slower, {len(ops) - slower} faster"
        html += folded(f"{plural(len(ops), 'op')} alone: {counts}", listed("changes", ops))
    return f'<div class="event">{html}</div>'


def name(key, change):
    """The row's, with a link to its trend where it has one."""
    return names.link(change.row, key) if change.kind == "step" else names.code(change.row)


def disturbed(analysis):
    """Runs in which much stands out that did not last."""
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
        for one in analysis.told
    ]
    if not rows:
        return ""
    data = pd.DataFrame(rows)
    linked = [Html(name(key, one.change)) for one in analysis.told]
    what = "Means of the runs before and since; p of Student's t-test. Letters are those of the trends."
    return parts.searchable(
        f"changes{key}",
        "All changes",
        what,
        data.assign(row=linked),
        data,
        is_open=True,
    )
