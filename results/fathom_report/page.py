"""The content of a report page: figures, missing figures, and tables."""

from fathom_page import templates
from fathom_report import machine
from fathom_report.ours.sums import with_ops
from fathom_runs.context import title

GROUPS = {"fathom": "Fathom", "tbd": "TBD", "ours": "fathom_bench"}  # heading by prefix of the key
TABLES = {
    "steps": ("Steps", "All measured steps."),
    "op_types": (
        "Op types in steps",
        "Time of each op type in the profiled steps (--fathom_profile).",
    ),
    "ops": ("Ops", "All op rows: each op shape, timed separately."),
    "sums": (
        "Steps and the sums of their ops",
        "Sum: the op rows that the step runs, each times its calls. The cold sum takes cold rows, of ops without one the "
        "hot row. Percentages are of the step: op types without rows, time between ops, and the op types with the largest "
        "difference between their time in the profiled step and their sum.",
    ),
    "rank_steps": (
        "Steps of several ranks",
        "All rows with ranks. Threads and batch are those of each rank; samples/s count all ranks.",
    ),
    "rank_ops": ("Collectives", "All op rows with ranks: each collective, timed separately."),
}
# Columns that are too long or not useful on the page.
HIDDEN = {"name", "iterations", "steps_per_sample", "disturbed"}
# If all rows agree in these columns, the values stand above the table instead.
SETTING = ("file", "device", "threads", "ranks", "precision", "cache", "backend")


def page(run, figures, missing, images):
    """The HTML of the page. `images` holds the SVG of each figure by key."""
    frames = {"sums": with_ops(run)} | {key: getattr(run, key) for key in TABLES if key != "sums"}
    frames = {key: frames[key] for key in TABLES if len(frames[key])}
    return templates.page(
        "fathom_report/report.html",
        kind="report",
        things="figures",
        heading=title(run.context),
        facts=machine.facts(run),
        notes=run.notes,
        cards=machine.cards(run),
        commands=machine.commands(run),
        groups=[
            (name, of_group(figures, start), of_group(missing, start))
            for start, name in GROUPS.items()
        ],
        figures=[
            (figure, figure.sentence.replace(" %", "\u00a0%"), images[figure.key])
            for figure in figures
        ],
        missing=missing,
        tables=[whole_table(key, frame) for key, frame in frames.items()],
    )


def of_group(figures, start):
    return [figure for figure in figures if figure.key.startswith(start)]


def whole_table(key, frame):
    """Arguments of the macro `searchable`."""
    title, what = TABLES[key]
    same = [one for one in SETTING if one in frame and len(frame) > 1 and frame[one].nunique() == 1]
    agree = ", ".join(f"{one} {frame[one].iloc[0]}" for one in same)
    shown = frame.drop(columns=HIDDEN.union(same) & set(frame.columns))
    if "label" in shown:
        shown = shown[[*shown.columns.drop("label"), "label"]]
    what += f" All rows: {agree}." if agree else ""
    return {
        **{"key": key, "title": title, "what": what, "shown": shown, "data": frame},
        "is_open": len(frame) <= 200,
    }
