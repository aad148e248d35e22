"""Draws the chart of a step: its trend, the stack of its op types below, and dates."""

import numpy as np

from fathom_history import stack, trend
from fathom_page import svg

GAP = 40  # between trend and stack; holds letters and the unit of the stack
DATE = 62  # width of a date


def drawn(series, found, profiles, machine, marks):
    """Draws one `<svg>`. `profiles` are the changes of the profile."""
    columns = svg.Columns(len(machine.runs))
    layers = stack.layers(machine.types.get(series.name, {}))
    unit = svg.unit(np.nanmedian(series.us))
    bottom = trend.TOP + trend.HEIGHT
    parts = []
    if layers:
        top = bottom + GAP
        bars, bottom = stack.drawn(layers, columns, top, unit)
        parts += [bars, stack.profile_lines(profiles, columns, top)]
    parts.append(trend.mark_lines(marks, columns, bottom))
    parts.append(trend.drawn(series, found, columns, unit))
    parts.append(trend.change_lines(found.changes, columns, bottom))
    end = bottom + (14 if layers or not marks else 30)
    parts.append(dates(machine.runs, columns, end))
    if layers:
        names, end = stack.key(layers, end + 17)
        parts.append(names)
    return svg.element(
        "svg",
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {svg.WIDTH} {end + 6}",
        font_size=svg.TEXT,
        font_family="sans-serif",
        fill="currentColor",
        data_left=svg.LEFT,
        data_step=round(columns.step, 3),
    )


def dates(runs, columns, y):
    """Draws as many dates as fit, with the first and the last."""
    room = int((svg.WIDTH - svg.LEFT - svg.RIGHT) // DATE)
    count = min(room, len(runs))
    places = sorted({round(k * (len(runs) - 1) / max(count - 1, 1)) for k in range(count)})
    parts, end = [], 0
    for run in places:
        x = min(max(columns.x(run), svg.LEFT + DATE / 2 - 12), svg.WIDTH - DATE / 2)
        if x - DATE / 2 < end:
            continue
        end = x + DATE / 2
        parts.append(svg.text(x, y, runs[run].day, text_anchor="middle", fill_opacity=".7"))
    return svg.joined(parts)


def sparkline(series, found):
    """Draws the times of a row in a cell of a table. Vertical lines are its changes."""
    kept = [run for run in series.known if run not in found.outliers]
    scale = trend.scale_of(series.us[kept], 2, 20)
    count = len(series.us)
    line = [(100 * (run + 0.5) / count, scale.y(series.us[run])) for run in kept]
    parts = [svg.path(line, stroke="currentColor")]
    for change in found.changes:
        colour = trend.SLOWER if change.percent > 0 else trend.FASTER
        place = 100 * change.run / count
        parts.append(svg.path([(place, 0), (place, 22)], stroke=colour, stroke_width=1.5))
    return svg.element("svg", *parts, viewBox="0 0 100 22", class_="spark")
