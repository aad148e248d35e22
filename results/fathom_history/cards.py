"""Cards: one chart per step."""

import numpy as np

from fathom_history import chart, sentences, stack
from fathom_history.latest import item
from fathom_history.names import anchor
from fathom_runs import names
from fathom_runs.words import percent, plural, time_words

DIGITS = 5  # significant digits of the values that the script of the page shows
MARKS = 5  # newest marks that are listed below a chart; the others are folded


def section(analysis, key):
    """Values for the template. None if there are no steps."""
    series = analysis.of_kind("step")
    if not series:
        return None
    shared = names.common([one.name for one in series])
    return {
        "agree": ", ".join(f"{name} {value}" for name, value in shared.items()),
        "count": plural(len(series), "row"),
        "runs": [[run.minute, run.commit, run.file] for run in analysis.machine.runs],
        "legends": legends(analysis),
        "cards": [card(one, analysis, key, shared) for one in series],
    }


def card(series, analysis, key, shared):
    found, profiles = analysis.found[series.name], analysis.profiles.get(series.name, [])
    return {
        "id": anchor(series.name, key),
        "row": series.name,
        "title": names.title(series.name),
        "setting": names.in_words(series.name, shared),
        "summary": summary(series, found.changes, profiles),
        "image": chart.drawn(series, found, profiles, analysis.machine, analysis.marks),
        "changes": [item(one) for one in analysis.changes_of(series.name)],
        "values": values(series, analysis.machine.types.get(series.name, {})),
    }


def summary(series, changes, profiles):
    """The newest value compared with the median of the earlier ones, and numbers of changes."""
    last = series.us[series.known[-1]]
    text = time_words(last)
    before = series.us[series.known[:-1]]
    if len(before):
        more = 100 * (last / np.median(before) - 1)
        side = "above" if more >= 0 else "below"
        text += f", {percent(abs(more))} {side} the median of {plural(len(before), 'earlier run')}"
    if series.known[-1] != len(series.us) - 1:
        text += "; the newest run lacks this row"
    return " ".join([f"{text}.", *(f"{one}." for one in counts(changes, profiles))])


def counts(changes, profiles):
    """Yields the number of changes of times, then of profiles, if there are any."""
    if changes:
        yield plural(len(changes), "change")
    if profiles:
        yield plural(len(profiles), "change of the profile", "changes of the profile")


def legends(analysis):
    """Meaning of the letters in the charts: the newest, and earlier ones that are folded."""
    lines = [legend(mark, analysis.machine.runs[mark.run]) for mark in reversed(analysis.marks)]
    return {"newest": lines[:MARKS], "earlier": lines[MARKS:]}


def legend(mark, run):
    words = "; ".join(
        f"{one.field} {sentences.shortened(one.old)} → {sentences.shortened(one.new)}"
        for one in mark.differences
    )
    return {"letter": mark.letter, "day": run.day, "words": words}


def values(series, types):
    """Values of each run for the script: microseconds, null if unknown."""
    made = {"us": rounded(series.us)}
    if (series.high > series.low).any():
        made |= {"low": rounded(series.low), "high": rounded(series.high)}
    order = sorted(types, key=lambda name: -np.nansum(types[name].us))
    return made | {"types": {name: rounded(types[name].us) for name in order[: stack.MAX_TYPES]}}


def rounded(values):
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in values]
