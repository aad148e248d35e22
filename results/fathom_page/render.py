"""Figures as SVG for the page and for files, and as PNG."""

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
    for _ in range(2):  # as often as saving would lay it out, but once for all files
        canvas.draw_without_rendering()
    canvas.set_layout_engine("none")
    return canvas


def svg(canvas, key):
    """One `<svg>` element. Its text and axes take the colour of the text around it; same data, same bytes."""
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": key}):  # no two figures of a page share an id
        canvas.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :].replace(style.INK, "currentColor")
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', text))
    return re.sub(
        r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", text
    ).strip()


def svg_file(element):
    """A file of the element alone, in dark ink on no paper."""
    return '<?xml version="1.0" encoding="utf-8"?>\n' + element.replace(
        "<svg ", f'<svg color="{LIGHT_INK}" ', 1
    )


def png(canvas, path):
    canvas.savefig(
        path, format="png", dpi=DOTS_PER_INCH, facecolor=PAPER, metadata={"Software": None}
    )
