"""Draws the times of a row over the runs, with levels, changes and marks of the context."""

import numpy as np

from fathom_page import palette, svg
from fathom_runs.words import percent

TOP, HEIGHT = 30, 96
FLAT = 0.04  # share of the median; the axis spans at least this, so that noise looks small
NEAR = 40  # labels closer than this would touch
SLOWER, FASTER = palette.SECOND, palette.CLASS_COLOURS["elementwise"]


def drawn(series, found, columns, unit):
    """Draws the axis, runs, repetitions, outliers and levels."""
    kept = [run for run in series.known if run not in found.outliers]
    scale = scale_of(series.us[kept], TOP, TOP + HEIGHT)
    x = columns.x
    spread = [
        point
        for run in kept
        if series.high[run] > series.low[run]
        for point in (*((x(run), scale.clamped(us[run])) for us in (series.low, series.high)), None)
    ]
    line = [(x(run), scale.y(series.us[run])) for run in kept]
    outliers = [(x(run), scale.clamped(series.us[run])) for run in found.outliers]
    colour = palette.FIRST
    parts = [
        scale.axis(*unit),
        svg.path(spread, stroke=colour, stroke_opacity=".45") if spread else "",
        svg.path(line, stroke=colour, stroke_opacity=".3"),
        svg.dots(line, min(max(columns.step / 2, 3.4), 5), stroke=colour),
        *(
            svg.element("circle", cx=cx, cy=cy, r=2.2, fill="none", stroke=colour)
            for cx, cy in outliers
        ),
        *levels(found.changes, columns, scale),
    ]
    return svg.joined(parts)


def scale_of(us, top, bottom):
    """A scale for these values. Outliers beyond it are drawn at its edge."""
    low, high = us.min(), us.max()
    half = max(0.6 * (high - low), FLAT * np.median(us))
    centre = (low + high) / 2
    return svg.Scale(max(centre - half, 0), centre + half, top, bottom)


def levels(changes, columns, scale):
    """Draws the mean before and after each change, as a line over the runs of the level."""
    for number, change in enumerate(changes):
        sides = [(change.new, change.new_us)]
        if number == 0:
            sides.append((change.old, change.old_us))
        for runs, us in sides:
            ends = (columns.x(runs[0] - 0.4), columns.x(runs[-1] + 0.4))
            yield svg.path(
                [(x, scale.y(us)) for x in ends],
                stroke=palette.FIRST,
                stroke_width=2.4,
                stroke_opacity=".6",
            )


def change_lines(changes, columns, bottom):
    """Draws a line at every change, with its size above. Labels that would touch alternate between two heights."""
    parts, last, row = [], -svg.WIDTH, 0
    for change in changes:
        colour = SLOWER if change.percent > 0 else FASTER
        x = columns.x(change.run - 0.5)
        row = 1 - row if x - last < NEAR else 0
        last = x
        words = f"{'▲' if change.percent > 0 else '▼'} {percent(abs(change.percent))}"
        anchor = "end" if x > svg.WIDTH - NEAR else "start" if x < svg.LEFT + NEAR else "middle"
        y = TOP - 6 - 11 * row
        parts.append(svg.path([(x, y + 3), (x, bottom)], stroke=colour, stroke_width=1.4))
        parts.append(svg.text(x, y, words, text_anchor=anchor, fill=colour, font_weight="600"))
    return svg.joined(parts)


def mark_lines(marks, columns, bottom):
    """Draws a dashed line at every mark, with its letter below the trend."""
    parts, last, row = [], -svg.WIDTH, 0
    for mark in marks:
        x = columns.x(mark.run - 0.5)
        row = 1 - row if x - last < 12 else 0
        last = x
        line = {"stroke": "currentColor", "stroke_opacity": ".55", "stroke_dasharray": "3 3"}
        parts.append(svg.path([(x, TOP - 2), (x, bottom)], **line))
        y = TOP + HEIGHT + 11 + 9 * row
        parts.append(svg.text(x + 2.5, y, mark.letter, font_weight="600"))
    return svg.joined(parts)
