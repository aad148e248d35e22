"""Names of rows on the page."""

import re

from markupsafe import Markup

from fathom_page.templates import breakable


def anchor(row, key):
    """The id of a row on the page. `key` belongs to the machine."""
    return re.sub(r"[^A-Za-z0-9]+", "-", row) + key


def link(row, key):
    return Markup('<a href="#{}">{}</a>').format(anchor(row, key), breakable(row))
