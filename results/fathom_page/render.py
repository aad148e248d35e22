"""Renders figures as SVG and PNG."""

import io
import re

import matplotlib
import matplotlib.figure

from fathom_page import style

LIGHT_INK, PAPER = "#1b1e23", "#ffffff"
DOTS_PER_INCH = 160


def drawn(figure):
    canvas = matplotlib.figure.Figure()
    figure.draw(canvas)
    for _ in range(2):  # savefig would repeat the layout for every file
        canvas.draw_without_rendering()
    canvas.set_layout_engine("none")
    return canvas


def svg(canvas, key):
    """One `<svg>` element with `currentColor` for text and axes. The same data gives the same bytes."""
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": key}):  # different ids in the figures of a page
        canvas.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :].replace(style.INK, "currentColor")
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', text))
    return re.sub(
        r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", text
    ).strip()


def svg_file(element):
    """An SVG file of the element: dark text, transparent background."""
    return '<?xml version="1.0" encoding="utf-8"?>\n' + element.replace(
        "<svg ", f'<svg color="{LIGHT_INK}" ', 1
    )


def png(canvas):
    """The bytes of a PNG file."""
    buffer = io.BytesIO()
    canvas.savefig(
        buffer, format="png", dpi=DOTS_PER_INCH, facecolor=PAPER, metadata={"Software": None}
    )
    return buffer.getvalue()
