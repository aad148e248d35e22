"""Tables of the page: ops, other rows, runs, changes of profiles, and changes of the machine."""

import numpy as np
import pandas as pd

from fathom_history import chart, names, sentences
from fathom_page.templates import breakable

DIGITS = 6  # significant digits in CSV files
INTERFERENCE = ("machine_others", "machine_steal")  # other users of the CPUs


def of_rows(analysis, key, kind, title):
    """The table of rows of a kind, with the newest value and a small trend. None without such rows."""
    series = analysis.of_kind(kind)
    if not series:
        return None
    frame = pd.DataFrame([entry(one, analysis) for one in series])
    if (frame.runs == len(analysis.machine.runs)).all():
        frame = frame.drop(columns="runs")
    return {
        "key": f"{kind}{key}",
        "title": title,
        "what": "The newest run compared with the median of the earlier runs.",
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
    """Times in microseconds, one column per run."""
    columns = {"row": [one.name for one in series]}
    for index, run in enumerate(analysis.machine.runs):
        column = f"{run.minute} {run.commit} us"
        while column in columns:
            column += "'"  # two runs in the same minute
        columns[column] = [float(f"{one.us[index]:.{DIGITS}g}") for one in series]
    return pd.DataFrame(columns)


def of_profiles(analysis, key):
    """The table of changes of profiles. None without changes."""
    runs, changes = analysis.machine.runs, analysis.profile_changes
    rows = [
        {
            "run": runs[one.run].minute,
            "row": one.row,
            "share of the step": ", ".join(
                f"{shift.op_type} {shift.old:.3g} → {shift.new:.3g} %" for shift in one.shifts
            ),
            "distance": one.distance,
            "noise": one.noise,
            "p": one.p,
            "runs since": len(one.new),
            "commits": sentences.commits(one, runs),
            "letters": ", ".join(mark.letter for mark in analysis.marks_at(one)),
        }
        for one in changes
    ]
    if not rows:
        return None
    data = pd.DataFrame(rows)
    return {
        "key": f"profiles{key}",
        "title": "Changes of profiles",
        "what": "distance: cosine distance between the mean profiles before and after. noise: median distance between "
        "two runs of a level. Letters: see Trends.",
        "shown": data.assign(row=[names.link(one.row, key) for one in changes]),
        "data": data,
        "is_open": True,
    }


def of_marks(analysis, key):
    """The table of changes of the machine and its libraries. None without changes."""
    runs = analysis.machine.runs
    rows = [
        {
            "letter": mark.letter,
            "run": runs[mark.run].minute,
            "field": one.field,
            "before": one.old,
            "after": one.new,
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
        "what": "Fields of the context that changed; measured peaks if they changed by more than 10 %.",
        "shown": frame,
        "data": frame,
        "is_open": len(frame) <= 50,
    }


def of_runs(analysis, key):
    """The table of runs, newest first."""
    machine = analysis.machine
    shown = [field for field in INTERFERENCE if any(field in run.context for run in machine.runs)]
    outliers = [run for found in analysis.found.values() for run in found.outliers]
    is_known = any(known for _, known in (run.disturbed for run in machine.runs))
    frame = pd.DataFrame(
        [
            {
                "run": run.minute,
                "file": run.file,
                "commit": run.commit,
                "rows": len(run.rows),
                "outliers": outliers.count(index),
                **({"disturbed steps": "{} of {}".format(*run.disturbed)} if is_known else {}),
                **{field: run.context.get(field, "") for field in shown},
                "rows that changed": sum(one.change.run == index for one in analysis.changes),
                "letters": ", ".join(mark.letter for mark in analysis.marks if mark.run == index),
            }
            for index, run in enumerate(machine.runs)
        ][::-1]
    )
    return {
        "key": f"runs{key}",
        "title": "Runs",
        "what": "Many outliers mean that the run was disturbed.",
        "shown": frame,
        "data": frame,
        "is_open": False,
    }
