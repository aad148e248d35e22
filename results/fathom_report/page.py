"""What the report's page shows: figures, what is missing, and tables."""

from fathom_page import templates
from fathom_report import machine
from fathom_runs.context import title

GROUPS = {"fathom": "Fathom", "tbd": "TBD", "ours": "fathom_bench"}  # by the start of a key
TABLES = {
    "steps": ("Steps", "Every workload's step that was measured."),
    "op_types": ("Op types in steps", "What the watched steps of --fathom_profile are made of."),
    "ops": ("Ops alone", "Every op shape that was run alone."),
}
# Too long, or of no use to a reader.
HIDDEN = {"name", "iterations", "steps_per_sample"}
# Said once above the table where all rows agree.
SETTING = ("device", "threads", "precision", "cache", "backend")


def page(run, figures, missing, images):
    """The page's text; `images` holds the figures' SVG by key."""
    frames = {key: frame for key in TABLES if len(frame := getattr(run, key))}
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
    """The arguments of the template's table."""
    title, what = TABLES[key]
    same = [one for one in SETTING if one in frame and len(frame) > 1 and frame[one].nunique() == 1]
    agree = ", ".join(f"{one} {frame[one].iloc[0]}" for one in same)
    shown = frame.drop(columns=HIDDEN.union(same) & set(frame.columns))
    if "label" in shown:
        shown = shown[[*shown.columns.drop("label"), "label"]]
    what += f" All: {agree}." if agree else ""
    return {
        **{"key": key, "title": title, "what": what, "shown": shown, "data": frame},
        "is_open": len(frame) <= 200,
    }
