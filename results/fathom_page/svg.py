"""Draws small SVG charts without Matplotlib, which takes hundreds of times as long."""

import math
from dataclasses import dataclass

from markupsafe import Markup, escape

WIDTH, LEFT, RIGHT = 420, 42, 8
TEXT = 10.5  # font size


def number(value):
    """Formats a coordinate."""
    return f"{value:.1f}".removesuffix(".0")


def element(name, *content, **attributes):
    """One SVG element. Underscores in attribute names become dashes. Content is escaped unless it is Markup."""
    words = "".join(
        f' {key.strip("_").replace("_", "-")}="{number(value) if isinstance(value, float) else escape(value)}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{words}>{joined(content)}</{name}>" if content else f"<{name}{words}/>")


def joined(parts):
    """Concatenates elements."""
    return Markup("").join(parts)


def text(x, y, words, **attributes):
    return element("text", words, x=float(x), y=float(y), **attributes)


def path(points, **attributes):
    """A line through points (x, y). None starts a new segment."""
    parts, pen = [], "M"
    for point in points:
        if point is None:
            pen = "M"
            continue
        parts.append(f"{pen}{number(point[0])} {number(point[1])}")
        pen = "L"
    return element("path", d="".join(parts), fill="none", **attributes)


def dots(points, size, **attributes):
    """Round dots, drawn as zero-length lines in one element."""
    d = "".join(f"M{number(x)} {number(y)}h0" for x, y in points)
    return element("path", d=d, stroke_width=float(size), stroke_linecap="round", **attributes)


def bars(boxes, **attributes):
    """Filled rectangles (x, y, width, height) in one element."""
    d = "".join(
        f"M{number(x)} {number(y)}h{number(w)}v{number(h)}h{number(-w)}z" for x, y, w, h in boxes
    )
    return element("path", d=d, **attributes)


@dataclass(frozen=True)
class Columns:
    """The x coordinates of runs, equally spaced."""

    count: int

    @property
    def step(self):
        return (WIDTH - LEFT - RIGHT) / self.count

    def x(self, run):
        return LEFT + (run + 0.5) * self.step


@dataclass(frozen=True)
class Scale:
    """A linear y scale, with `low` at the bottom and `high` at the top."""

    low: float
    high: float
    top: float
    bottom: float

    def y(self, value):
        share = (value - self.low) / (self.high - self.low)
        return self.bottom + share * (self.top - self.bottom)

    def clamped(self, value):
        """The y of a value. A value beyond an end gets the y of this end."""
        return self.y(min(max(value, self.low), self.high))

    def ticks(self):
        """Two to five round values."""
        span = self.high - self.low
        unit = 10 ** math.floor(math.log10(span))
        for step in (unit * share for share in (0.2, 0.25, 0.5, 1, 2)):
            first = math.ceil(self.low / step - 1e-9)
            found = [step * k for k in range(first, math.floor(self.high / step + 1e-9) + 1)]
            if len(found) <= 5:
                return found
        return found

    def axis(self, unit, size):
        """Horizontal grid lines, their values, and the unit above. `size` is the unit in microseconds."""
        parts = []
        for tick in self.ticks():
            y = self.y(tick)
            ends = [(LEFT, y), (WIDTH - RIGHT, y)]
            parts.append(path(ends, stroke="currentColor", stroke_opacity=".12"))
            parts.append(text(LEFT - 5, y + 3.5, f"{tick / size:,.6g}", text_anchor="end"))
        parts.append(text(0, self.top - 9, unit, fill_opacity=".7"))
        return joined(parts)


def unit(us):
    """A readable unit for a time, and its size in microseconds."""
    return next((one for one in (("s", 1e6), ("ms", 1e3)) if us >= one[1]), ("µs", 1))
