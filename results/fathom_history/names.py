"""Names of rows on the page."""

import re

from markupsafe import Markup

from fathom_page.templates import breakable
from fathom_runs.names import tokens


def anchor(row, key):
    """The id of a row on the page. `key` belongs to the machine."""
    return re.sub(r"[^A-Za-z0-9]+", "-", row) + key


def link(row, key):
    return Markup('<a href="#{}">{}</a>').format(anchor(row, key), breakable(row))


def common(rows):
    """The `key:value` parts of the name that all rows share."""
    found = [tokens(row) for row in rows]
    if len(found) < 2:
        return {}
    return {
        key: value for key, value in found[0].items() if all(one.get(key) == value for one in found)
    }


def title(row):
    """Workload and mode of a step."""
    return "/".join(row.split("/")[:2])


def brief(row, rows):
    """The title. If several rows share it, also the parts in which they differ."""
    alike = [other for other in rows if title(other) == title(row)]
    differing = setting(row, common(alike)) if len(alike) > 1 else ""
    return f"{title(row)}, {differing}" if differing else title(row)


def setting(row, left_out):
    """The parts of a name in words, without those in `left_out`."""
    pairs = [pair for pair in tokens(row).items() if pair not in left_out.items()]
    return ", ".join(f"{key} {value}" for key, value in pairs)
