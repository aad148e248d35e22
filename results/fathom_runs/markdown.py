"""Text for Markdown: names and reasons of other programs may hold any character."""

import re

from fathom_runs.words import one_line


def code(text):
    """A code span, between more backticks than follow each other in the text."""
    text = one_line(text)
    most = max(map(len, re.findall("`+", text)), default=0)
    pad = " " if most else ""
    return "`" * (most + 1) + pad + text + pad + "`" * (most + 1)


def plain(text):
    """The text on one line, without code, emphasis and HTML."""
    return re.sub(r"([\\`*<])", r"\\\1", one_line(text))


def table(heads, rows, numbers=()):
    """The lines of a table. Columns with a head in `numbers` are aligned to the right.

    The cells are Markdown; a `|` would end a cell, in a code span, too.
    """
    rules = ["--:" if head in numbers else "---" for head in heads]
    lines = ([str(cell).replace("|", r"\|") for cell in row] for row in (heads, rules, *rows))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
