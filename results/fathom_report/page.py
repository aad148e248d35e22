"""The page: figures, what is missing, and tables, in one file that needs nothing else."""

import re
from html import escape

from fathom_report import machine, parts
from fathom_report.table import csv_element, table

GROUPS = {"fathom": "Fathom", "tbd": "TBD", "ours": "fathom_bench"}  # by the start of a key
TABLES = {
    "steps": ("Steps", "Every workload's step that was measured."),
    "op_types": ("Op types in steps", "What the watched steps of --fathom_profile are made of."),
    "ops": ("Ops alone", "Every op shape that was run alone."),
}
# Too long, or of no use to a reader.
HIDDEN = {"name", "iterations", "steps_per_sample"}
ABOUT = """<details id="about" open><summary>Machine, versions, settings, peaks and commands</summary>
<div class="cards">
{}
</div>
</details>"""
# Said once above the table where all rows agree.
SETTING = ("device", "threads", "precision", "cache", "backend")


def page(run, figures, missing, images):
    """The page's text; `images` holds the figures' SVG by key."""
    frames = {key: frame for key in TABLES if len(frame := getattr(run, key))}
    sections = [
        *(section(figure, images[figure.key]) for figure in figures),
        absent(missing),
        *(whole_table(key, frame) for key, frame in frames.items()),
    ]
    return parts.page(
        "report",
        machine.title(run.context),
        things="figures",
        facts=machine.facts(run),
        notes=parts.notes(run.notes),
        about=ABOUT.format(machine.cards(run)),
        contents=contents(figures, missing, frames),
        main="\n".join(sections),
    )


def contents(figures, missing, frames):
    groups = []
    for start, name in GROUPS.items():
        links = [link(one.key, one.title) for one in figures if one.key.startswith(start)]
        links += [
            link("missing", one.title, "absent") for one in missing if one.key.startswith(start)
        ]
        groups.append((name, links))
    groups.append(("Tables", [link(key, TABLES[key][0]) for key in frames]))
    return "\n".join(f"<h2>{name}</h2><ul>{''.join(links)}</ul>" for name, links in groups if links)


def link(key, title, kind=""):
    mark = f' class="{kind}" title="not shown: rows are missing"' if kind else ""
    return f'<li><a href="#{escape(key)}"{mark}>{escape(title)}</a></li>'


def section(figure, image):
    key, title, sentence = map(escape, (figure.key, figure.title, figure.sentence))
    sentence = sentence.replace(" %", "\u00a0%")
    image = image.replace("<svg ", f'<svg role="img" aria-label="{sentence}" ', 1)
    return f"""<section id="{key}"><figure>
<p class="source">{escape(figure.source)}</p>
<h2>{title}</h2>
<figcaption class="sentence">{sentence}</figcaption>
<div class="plot" tabindex="0" role="group" aria-label="{title}: Enter enlarges">{image}</div>
</figure>
{parts.tools("enlarge", "svg", "png", "csv")}
<details><summary>Data, {len(figure.data)} rows</summary>
{table(figure.data, figure.title)}
</details>
{csv_element(figure.data)}
</section>"""


def absent(missing):
    if not missing:
        return ""
    items = "\n".join(
        f"<dt><b>{escape(one.title)}</b>{escape(one.source)}</dt><dd>{with_code(one.needs)}</dd>"
        for one in missing
    )
    return f'<section id="missing"><h2>Not shown</h2><dl>\n{items}\n</dl></section>'


def with_code(text):
    """Escaped, with commands and options as code."""
    commands = r"\./fathom_bench( -\S+)*|--fathom_\w+(=[\w.,]+)?"
    pieces, end = [], 0
    for found in re.finditer(commands, text):
        pieces += [escape(text[end : found.start()]), f"<code>{escape(found[0])}</code>"]
        end = found.end()
    return "".join(pieces) + escape(text[end:])


def whole_table(key, frame):
    title, what = TABLES[key]
    same = [one for one in SETTING if one in frame and len(frame) > 1 and frame[one].nunique() == 1]
    agree = ", ".join(f"{one} {frame[one].iloc[0]}" for one in same)
    shown = frame.drop(columns=HIDDEN.union(same) & set(frame.columns))
    if "label" in shown:
        shown = shown[[*shown.columns.drop("label"), "label"]]
    what += f" All: {agree}." if agree else ""
    return parts.searchable(key, title, what, shown, data=frame, is_open=len(frame) <= 200)
