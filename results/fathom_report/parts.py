"""What pages are made of: one file that needs nothing else, notes, tools, tables with a search."""

import base64
import hashlib
import string
from html import escape

from fathom_report.table import csv_element, readable, table


def page(template, styles, scripts, **parts):
    """A template's text with its styles and scripts inside; the page runs no other script."""
    script = "\n".join(path.read_text() for path in scripts)
    digest = base64.b64encode(hashlib.sha256(("\n" + script).encode()).digest()).decode()
    return string.Template(template.read_text()).substitute(
        parts,
        style="\n".join(path.read_text() for path in styles),
        script=script,
        script_hash=f"sha256-{digest}",
    )


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
