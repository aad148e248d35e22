"""Draws the op types of a step over the runs, as one stacked bar per run."""

from dataclasses import dataclass

import numpy as np

from fathom_history.machines import op_times
from fathom_page import palette, svg

MAX_TYPES = 6  # op types with their own colour; the rest is drawn as "others"
HEIGHT = 84
OTHERS = "others"
PROFILE = "◆"  # the sign of a change of the profile
# Shades of op types of one class, by rank: the colour is mixed with black (0) or white (255) by this share.
SHADES = ((0, 0), (0, 0.4), (255, 0.45), (0, 0.65), (255, 0.7), (0, 0.8))


@dataclass(frozen=True)
class Layer:
    name: str
    us: np.ndarray  # microseconds, one value per run; 0 if the run was not profiled
    colour: str


def layers(types):
    """Layers from bottom to top, largest sum over all runs first. The class framework is one layer."""
    times, classes = op_times(types)
    order = sorted(times, key=lambda name: (-times[name].sum(), name))
    used, made = {}, []
    for name in order[:MAX_TYPES]:
        kind = classes[name]
        colour = shaded(palette.class_colour(kind), *SHADES[used.get(kind, 0)])
        used[kind] = used.get(kind, 0) + 1
        made.append(Layer(name, times[name], colour))
    rest = order[MAX_TYPES:]
    if rest:
        total = np.sum([times[name] for name in rest], axis=0)
        made.append(Layer(OTHERS, total, "#c9c9c9"))
    return made


def shaded(colour, towards, share):
    """Mixes a colour with black (0) or white (255)."""
    parts = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return "#" + "".join(f"{round(part + share * (towards - part)):02x}" for part in parts)


def drawn(made, columns, top, unit):
    """Draws the bars below `top`. Returns them and the y of their bottom."""
    total = np.sum([layer.us for layer in made], axis=0)
    scale = svg.Scale(0, 1.04 * total.max(), top, top + HEIGHT)
    name, size = unit
    parts = [scale.axis(f"op types, {name}", size)]
    base = np.zeros(len(total))
    width = max(0.86 * columns.step, 0.8)
    for layer in made:
        boxes = [
            (columns.x(run) - width / 2, scale.y(base[run] + us), width, scale.y(0) - scale.y(us))
            for run, us in enumerate(layer.us)
            if us > 0
        ]
        parts.append(svg.bars(boxes, fill=layer.colour))
        base = base + layer.us
    return svg.joined(parts), scale.bottom


def profile_lines(changes, columns, top):
    """Draws a line through the bars at every change of the profile, with its sign above."""
    parts = []
    for change in changes:
        x = columns.x(change.run - 0.5)
        parts.append(svg.path([(x, top - 1), (x, top + HEIGHT)], stroke="currentColor"))
        parts.append(svg.text(x, top - 3, PROFILE, text_anchor="middle"))
    return svg.joined(parts)


def key(made, top):
    """Draws the legend in as many lines as needed. Returns it and the y of its bottom."""
    x, y, parts = svg.LEFT, top, []
    for layer in made:
        width = 24 + 6.8 * len(layer.name)  # about 6.8 per letter
        if x + width > svg.WIDTH and x > svg.LEFT:
            x, y = svg.LEFT, y + 15
        box = {"x": float(x), "y": float(y - 8), "width": 9, "height": 9, "rx": 1.5}
        parts.append(svg.element("rect", **box, fill=layer.colour))
        parts.append(svg.text(x + 13, y, layer.name))
        x += width
    return svg.joined(parts), y
