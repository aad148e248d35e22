"""Renders pages from Jinja2 templates. Every value is escaped unless it is Markup."""

import base64
import hashlib
import pathlib
import re

import jinja2
from markupsafe import Markup, escape

from fathom_page import table

HERE = pathlib.Path(__file__).resolve().parent


def page(template, styles=(), scripts=(), **values):
    """Renders `template`, a path below results/, with styles and scripts inline. The page allows no other script."""
    script = text_of(HERE / "page.js", *scripts)
    digest = base64.b64encode(hashlib.sha256(("\n" + script).encode()).digest()).decode()
    made = ENVIRONMENT.get_template(template).render(
        values,
        style=Markup(text_of(HERE / "page.css", *styles)),
        script=Markup(script),
        script_hash=f"sha256-{digest}",
    )
    return made + "\n"


def text_of(*paths):
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def labelled(image, words):
    """Adds a description for screen readers to an `<svg>`."""
    return Markup(image).replace(
        Markup("<svg "), Markup('<svg role="img" aria-label="{}" ').format(words), 1
    )


def unbroken(text):
    """Keeps a number on one line with its unit and its exponent."""
    html = re.sub(r"(\d) (%|s|ms|µs)(?!\w)", "\\1\u00a0\\2", escape(text))
    return Markup(re.sub(r"\d+e-\d+", r'<span class="whole">\g<0></span>', html))


def breakable(name):
    """The name of a row as code, with a possible line break after each part."""
    return Markup("<code>{}</code>").format(Markup("/<wbr>").join(name.split("/")))


def with_code(text):
    """Marks commands and options in a text as code."""
    commands = r"(\./fathom_bench(?: -\S+)*|--fathom_\w+(?:=[\w.,]+)?)"
    pieces = re.split(commands, text)
    pieces[1::2] = [Markup("<code>{}</code>").format(piece) for piece in pieces[1::2]]
    return Markup("").join(pieces)


ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(HERE.parent),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
ENVIRONMENT.filters |= {
    "breakable": breakable,
    "csv": table.csv,
    "labelled": labelled,
    "readable": table.readable,
    "table": table.table,
    "unbroken": unbroken,
    "with_code": with_code,
}
