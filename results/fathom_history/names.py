"""How rows are named on the page."""

import re

from markupsafe import Markup

from fathom_page.templates import breakable
from fathom_runs.names import tokens


def anchor(row, key):
    """A row's place on the page of `key`, the machine's part of it."""
    return re.sub(r"[^A-Za-z0-9]+", "-", row) + key


def link(row, key):
    return Markup('<a href="#{}">{}</a>').format(anchor(row, key), breakable(row))


def common(rows):
    """The parts in which all rows agree."""
    found = [tokens(row) for row in rows]
    if len(found) < 2:
        return {}
    return {
        key: value for key, value in found[0].items() if all(one.get(key) == value for one in found)
    }


def title(row):
    """A model row's workload and mode."""
    return "/".join(row.split("/")[:2])


def brief(row, rows):
    """A title, and where several rows share it, in what they differ."""
    alike = [other for other in rows if title(other) == title(row)]
    differing = setting(row, common(alike)) if len(alike) > 1 else ""
    return f"{title(row)}, {differing}" if differing else title(row)


def setting(row, left_out):
    """A row's parts in words, without those that all rows share."""
    pairs = [pair for pair in tokens(row).items() if pair not in left_out.items()]
    return ", ".join(f"{key} {value}" for key, value in pairs)
