"""What pages are made of: one file that needs nothing else, notes, tools, tables with a search."""

import base64
import hashlib
import pathlib
import string
from html import escape

from fathom_report.table import csv_element, readable, table

SHARED = pathlib.Path(__file__).parent


def page(kind, heading, *, styles=(), scripts=(), **parts):
    """The text of a "report" or "history", with its styles and scripts inside; it runs no other script."""
    script = text_of(SHARED / "page.js", *scripts)
    digest = base64.b64encode(hashlib.sha256(("\n" + script).encode()).digest()).decode()
    return string.Template(text_of(SHARED / "page.html")).substitute(
        parts,
        kind=kind,
        heading=escape(heading),
        style=text_of(SHARED / "page.css", *styles),
        script=script,
        script_hash=f"sha256-{digest}",
    )


def text_of(*paths):
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def notes(lines):
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<ul class="notes">{items}</ul>' if items else ""


def tools(*kinds):
    buttons = "".join(
        '<button type="button" data-enlarge>Enlarge</button>'
        if kind == "enlarge"
        else f'<button type="button" data-save="{kind}">Save {kind.upper()}</button>'
        for kind in kinds
    )
    return f'<div class="tools">{buttons}</div>'


def searchable(key, title, what, shown, data, is_open):
    """A section of a table with a search; `data` is what can be saved of it."""
    return f"""<section id="{key}"><h2>{escape(title)}</h2>
<p class="source">{escape(what, quote=False)}</p>
<div class="search"><label for="search-{key}">Search</label>
<input id="search-{key}" type="search" autocomplete="off"><output for="search-{key}">{len(shown)} rows</output></div>
<details{" open" if is_open else ""}><summary>Rows</summary>
{table(readable(shown), title)}
</details>
{tools("csv")}
{csv_element(data)}
</section>"""
