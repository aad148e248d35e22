"""Style of all figures. Importing this module configures Matplotlib.

Text, axes and grid are drawn in INK, a colour that no data uses. render.svg replaces it with `currentColor`, so figures
follow the dark and the light theme. Backgrounds are transparent.
"""

import matplotlib
import matplotlib.colors
import matplotlib.ticker
import numpy as np

INK = "#010203"
WIDTH = 7.5  # inches; 9 point text stays readable at half the size, on a phone
SMALL = 9  # points

matplotlib.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "fathom_report",
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "font.size": SMALL,
        "axes.titlesize": 10,
        "axes.titlelocation": "left",
        "axes.titleweight": "bold",
        "axes.labelsize": SMALL,
        "xtick.labelsize": SMALL,
        "ytick.labelsize": SMALL,
        "legend.fontsize": SMALL,
        "legend.frameon": False,
        "text.color": INK,
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "savefig.facecolor": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.8,
        "axes.axisbelow": True,
        "lines.linewidth": 1.6,
    }
)


def faded(colour, share):
    """The colour with an opacity of `share`."""
    return (*matplotlib.colors.to_rgb(colour), float(np.clip(share, 0, 1)))


def axes(figure, height, rows=1, columns=1, **options):
    """Adds `rows` by `columns` axes to a figure of the common width. `height` is in inches."""
    figure.set_size_inches(WIDTH, height)
    figure.set_layout_engine("constrained")
    return figure.subplots(rows, columns, squeeze=False, **options)


def panels(figure, count, columns=2, height=1.9, **options):
    """Adds `count` axes in rows of `columns`. Unused axes are hidden."""
    columns = min(columns, count)
    rows = -(-count // columns)
    grid = axes(figure, max(height * rows, 2.6), rows, columns, **options).ravel()
    for unused in grid[count:]:
        unused.set_visible(False)
    return grid[:count]


def grid(axis, which="both"):
    axis.grid(axis=which, color=INK, alpha=0.12, linewidth=0.8)
    axis.tick_params(length=0)


def plain_log(axis, which="xy"):
    """Makes axes logarithmic with plain numbers. Call it after drawing the data."""
    for name in which:
        getattr(axis, f"set_{name}scale")("log")
        low, high = getattr(axis, f"get_{name}lim")()
        steps = (1,) if high / low > 100 else (1, 2, 5) if high / low > 4 else range(1, 10)
        one = getattr(axis, f"{name}axis")
        one.set_major_locator(matplotlib.ticker.LogLocator(subs=list(steps)))
        one.set_major_formatter(lambda value, _: f"{value:,g}")
        one.set_minor_locator(matplotlib.ticker.NullLocator())


def count_axis(axis, counts):
    """A logarithmic x axis for threads or batch sizes, with ticks at the measured values."""
    axis.set_xscale("log", base=2)
    axis.set_xticks(sorted(set(counts)), [str(count) for count in sorted(set(counts))])
    axis.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
