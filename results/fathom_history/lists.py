"""Sentences on changes as a list, slower and faster told apart."""

from html import escape

from fathom_history import names


def item(told, lead=""):
    """A change after what leads to it; alone, its sentence starts with a capital."""
    sign = "slower" if told.change.percent > 0 else "faster"
    sentence = told.sentence if lead else told.sentence[:1].upper() + told.sentence[1:]
    words = " ".join(filter(None, (lead, names.unbroken(escape(sentence)))))
    return f'<li class="{sign}">{words}</li>'


def listed(kind, items):
    return f'<ul class="{kind}">{"".join(items)}</ul>' if items else ""


def folded(title, body):
    return f"<details><summary>{escape(title)}</summary>\n{body}\n</details>"
