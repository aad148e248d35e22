"""Labels, legends and cells of Matplotlib figures."""

import matplotlib.lines
import matplotlib.patches
import numpy as np
from scipy.optimize import isotonic_regression

from fathom_page import palette, style


def spread(positions, gap):
    """Moves positions apart to at least `gap`. Keeps their order and minimises the squared distances."""
    order = np.argsort(positions, kind="stable")
    apart = gap * np.arange(len(order))
    result = np.empty(len(order))
    result[order] = isotonic_regression(np.asarray(positions)[order] - apart).x + apart
    return result


def end_labels(axis, labels, gap, left=False):
    """Labels points (x, y, text, colour) beside the axes, with lines to the points. `gap` is a share of the height."""
    place = axis.transScale + axis.transLimits
    points = [place.transform((x, y)) for x, y, _, _ in labels]
    edge, side = (-0.02, "right") if left else (1.02, "left")
    for (*_, text, colour), point, height in zip(
        labels, points, spread([point[1] for point in points], gap)
    ):
        leader(axis, point, (edge, height), colour)
        axis.annotate(
            text,
            (edge, height),
            (-2 if left else 2, 0),
            "axes fraction",
            "offset points",
            ha=side,
            va="center",
            color=colour,
        )


def leader(axis, start, end, colour):
    """Draws a thin line between two points in axes coordinates."""
    (line,) = axis.plot(
        *zip(start, end),
        color=colour,
        alpha=0.45,
        linewidth=0.8,
        transform=axis.transAxes,
        clip_on=False,
        scalex=False,
        scaley=False,
    )
    line.set_in_layout(False)


def class_key(axis, classes, title=None, where="lower right"):
    """Draws a legend of classes of op types."""
    handles = [
        matplotlib.patches.Patch(color=palette.class_colour(name), label=palette.class_words(name))
        for name in palette.in_order(classes)
    ]
    axis.legend(handles=handles, title=title, loc=where, handlelength=0.9, alignment="left")


def name_axes(axis, columns, rows):
    """Labels the columns at the top and the rows at the left of a heat map."""
    crowded = len(columns) > 5 or max(map(len, columns)) > 9
    axis.set_xticks(
        range(len(columns)),
        columns,
        rotation=40 if crowded else 0,
        ha="left" if crowded else "center",
        rotation_mode="anchor",
    )
    axis.set_yticks(range(len(rows)), rows)
    axis.xaxis.tick_top()
    axis.tick_params(length=0, labelleft=True)
    for spine in axis.spines.values():
        spine.set_visible(False)


def marker_key(figure, kinds, columns=3):
    """Draws a legend of (name, marker properties) below the axes."""
    handles = [
        matplotlib.lines.Line2D([], [], label=name, **{"linestyle": "none", "markersize": 7, **how})
        for name, how in kinds
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(columns, len(kinds)))


def point_labels(axis, labels):
    """Labels scattered points (x, y, text, colour). A label that would overlap an earlier one is left out."""
    place = axis.transScale + axis.transLimits
    taken = []
    for x, y, text, colour in labels:
        across, up = place.transform((x, y))
        if any(abs(across - x0) < 0.16 and abs(up - y0) < 0.05 for x0, y0 in taken):
            continue
        taken.append((across, up))
        axis.annotate(
            text,
            (across, up),
            (7, 0),
            "axes fraction",
            "offset points",
            va="center",
            color=colour,
            in_layout=False,
        )


def names_above(axis, labels, height):
    """Labels points (x, y, text) in one row at `height` (axes coordinates), each with a line down to its point."""
    place = axis.transScale + axis.transLimits
    points = [place.transform((x, y)) for x, y, _ in labels]
    for (*_, text), point, across in zip(labels, points, spread([one[0] for one in points], 0.035)):
        leader(axis, point, (across, height), style.INK)
        axis.text(
            across,
            height,
            f" {text}",
            transform=axis.transAxes,
            rotation=40,
            ha="left",
            va="bottom",
            rotation_mode="anchor",
            in_layout=False,
        )


def cell(axis, x, y, colour, text):
    """Draws a cell of a heat map, centred at (x, y)."""
    corner = (x - 0.48, y - 0.46)
    axis.add_patch(matplotlib.patches.Rectangle(corner, 0.96, 0.92, color=colour, linewidth=0))
    axis.text(x, y, text, ha="center", va="center", in_layout=False)


def bar_piece(axis, y, left, width, colour):
    """Draws a segment of a horizontal bar. The colour "none" draws an outline."""
    outline = style.INK if colour == "none" else colour
    axis.barh(y, width, 0.66, left, color=colour, edgecolor=outline, linewidth=0.5)
