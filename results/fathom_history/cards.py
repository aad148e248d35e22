"""A card with a chart for every model row."""

import json
from html import escape

import numpy as np

from fathom_history import chart, names, sentences, stack
from fathom_history.lists import folded, item, listed
from fathom_report import parts
from fathom_runs.words import percent, plural, time_words

DIGITS = 5  # of the values that the page's script reads out
MARKS = 5  # whose words stand below a chart; those of earlier runs can be opened
ABOUT = (
    "Dots are runs, thin bars the range of their repetitions, thick lines levels; circles stand out alone and are set "
    "aside. Letters mark changes of machine or libraries. Point at a run, or use the arrow keys, to read it out."
)


def section(analysis, key):
    series = analysis.of_kind("step")
    if not series:
        return ""
    shared = names.common([one.name for one in series])
    agree = ", ".join(f"{name} {value}" for name, value in shared.items())
    cards = "\n".join(card(one, analysis, key, shared) for one in series)
    runs = [[run.minute, run.commit, run.file] for run in analysis.machine.runs]
    return f"""<div class="trends" id="trends{key}"><h2>Trends</h2>
<p class="source">{escape(f"All: {agree}. " if agree else "")}{ABOUT}</p>
<div class="filter" hidden><label for="filter{key}">Show rows with</label>
<input id="filter{key}" type="search" autocomplete="off">
<label><input type="checkbox"> changed only</label> <output for="filter{key}">{plural(len(series), "row")}</output></div>
{script("runs", runs)}
<div class="grid">
{cards}
</div>
</div>"""


def card(series, analysis, key, shared):
    found = analysis.found[series.name]
    told = analysis.told_of(series.name)
    title = names.title(series.name)
    summary = summed(series, told)
    image = chart.drawn(series, found, analysis.machine, analysis.marks)
    image = image.replace("<svg ", f'<svg role="img" aria-label="{escape(summary)}" ', 1)
    state = ' data-changed=""' if told else ""
    return f"""<section id="{names.anchor(series.name, key)}" data-name="{escape(series.name)}"{state}>
<h2>{escape(title)}</h2>
<p class="source">{escape(names.setting(series.name, shared))}</p>
<p class="sentence">{names.unbroken(escape(summary))}</p>
<div class="plot" tabindex="0" role="group" aria-label="{escape(title)}: arrows read out, Enter enlarges">{image}</div>
<output class="readout"></output>
{legends(analysis)}
{listed("changes", [item(one) for one in told])}
{parts.tools("enlarge", "svg", "png")}
{script("values", values(series, analysis.machine.types.get(series.name, {})))}
</section>"""


def summed(series, told):
    """The last value against those before."""
    last = series.us[series.known[-1]]
    text = time_words(last)
    before = series.us[series.known[:-1]]
    if len(before):
        more = 100 * (last / np.median(before) - 1)
        side = "above" if more >= 0 else "below"
        text += f", {percent(abs(more))} {side} the median of {plural(len(before), 'run')} before"
    if series.known[-1] != len(series.us) - 1:
        text += "; not in the newest run"
    return f"{text}. {plural(len(told), 'change')}." if told else f"{text}."


def legends(analysis):
    """The newest marks; earlier ones can be opened."""
    lines = [legend(mark, analysis.machine.runs[mark.run]) for mark in reversed(analysis.marks)]
    html = listed("marks", lines[:MARKS])
    if lines[MARKS:]:
        html += folded(f"{len(lines) - MARKS} earlier", listed("marks", lines[MARKS:]))
    return html


def legend(mark, run):
    """What a letter in the chart stands for."""
    words = "; ".join(
        f"{one.field} {sentences.cut(one.old)} → {sentences.cut(one.new)}"
        for one in mark.differences
    )
    return f"<li><b>{mark.letter}</b> {run.day} {escape(words)}</li>"


def values(series, types):
    """What the script reads out of a run: microseconds, null where unknown."""
    made = {"us": rounded(series.us)}
    if (series.high > series.low).any():
        made |= {"low": rounded(series.low), "high": rounded(series.high)}
    order = sorted(types, key=lambda name: -np.nansum(types[name].us))
    return made | {"types": {name: rounded(types[name].us) for name in order[: stack.MOST]}}


def rounded(values):
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in values]


def script(kind, value):
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" class="{kind}">{text}</script>'
