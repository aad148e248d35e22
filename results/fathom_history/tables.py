"""Rows of ops alone and of fixtures, runs, and what changed about the machine, as tables of the page."""

import numpy as np
import pandas as pd

from fathom_history import chart
from fathom_page.templates import breakable

DIGITS = 6  # of what can be saved
OTHERS = ("machine_others", "machine_steal")  # who else used the CPUs


def of_rows(analysis, key, kind, title):
    """Rows of a kind with their last value and a small trend."""
    series = analysis.of_kind(kind)
    if not series:
        return None
    frame = pd.DataFrame([entry(one, analysis) for one in series])
    if (frame.runs == len(analysis.machine.runs)).all():
        frame = frame.drop(columns="runs")
    return {
        "key": f"{kind}{key}",
        "title": title,
        "what": "The newest run against the median of those before.",
        "shown": frame,
        "data": matrix(series, analysis),
        "is_open": False,
    }


def entry(series, analysis):
    found = analysis.found[series.name]
    newest = series.us[-1]
    before = series.us[:-1][np.isfinite(series.us[:-1])]
    middle = np.median(before) if len(before) else np.nan
    last = found.changes[-1] if found.changes else None
    return {
        "row": breakable(series.name),
        "trend": chart.sparkline(series, found),
        "newest_us": newest,
        "median_before_us": middle,
        "difference_pct": 100 * (newest / middle - 1),
        "last_change": analysis.machine.runs[last.run].day if last else "",
        "last_change_pct": last.percent if last else np.nan,
        "runs": len(series.known),
    }


def matrix(series, analysis):
    """A column a run."""
    columns = {"row": [one.name for one in series]}
    for index, run in enumerate(analysis.machine.runs):
        column = f"{run.minute} {run.commit} us"
        while column in columns:
            column += "'"  # two runs of one minute
        columns[column] = [float(f"{one.us[index]:.{DIGITS}g}") for one in series]
    return pd.DataFrame(columns)


def of_marks(analysis, key):
    """What changed about the machine and its libraries."""
    runs = analysis.machine.runs
    rows = [
        {
            "mark": mark.letter,
            "run": runs[mark.run].minute,
            "field": one.field,
            "before": one.old,
            "from then on": one.new,
            "commit": runs[mark.run].commit,
            "rows that changed": sum(
                mark in analysis.marks_at(described.change) for described in analysis.changes
            ),
        }
        for mark in analysis.marks
        for one in mark.differences
    ]
    if not rows:
        return None
    frame = pd.DataFrame(rows[::-1])
    return {
        "key": f"context{key}",
        "title": "Machine and libraries",
        "what": "Fields of the context; measured peaks where they moved by more than 10 %.",
        "shown": frame,
        "data": frame,
        "is_open": len(frame) <= 50,
    }


def of_runs(analysis, key):
    machine = analysis.machine
    shown = [field for field in OTHERS if any(field in run.context for run in machine.runs)]
    aside = [run for found in analysis.found.values() for run in found.aside]
    frame = pd.DataFrame(
        [
            {
                "run": run.minute,
                "file": run.file,
                "commit": run.commit,
                "rows": len(run.rows),
                "rows that stand out here alone": aside.count(index),
                **{field: run.context.get(field, "") for field in shown},
                "rows that changed": sum(one.change.run == index for one in analysis.changes),
                "mark": ", ".join(mark.letter for mark in analysis.marks if mark.run == index),
            }
            for index, run in enumerate(machine.runs)
        ][::-1]
    )
    return {
        "key": f"runs{key}",
        "title": "Runs",
        "what": "A run in which many rows stand out alone was disturbed.",
        "shown": frame,
        "data": frame,
        "is_open": False,
    }
