"""Colours, text and axes that all figures share. Importing it sets Matplotlib up.

Text, axes and grid are drawn in INK, which no data has: the page replaces it in the SVG by its own text colour, for
dark and light. Backgrounds stay transparent.
"""

import matplotlib
import matplotlib.colors
import matplotlib.ticker
import numpy as np

from fathom_report.run import MEMORY_CLASSES

INK = "#010203"
WIDTH = 7.5  # inches; text of 9 points stays readable when a phone shows it at half the size
SMALL = 9  # points

# Fathom's classes A to G, then what is no op. Okabe and Ito's colours, the yellow darkened for white paper.
CLASS_COLOURS = {
    "matrix": "#0072B2",
    "convolution": "#D55E00",
    "elementwise": "#009E73",
    "reduction": "#CC79A7",
    "random": "#CDBB21",
    "optimization": "#E69F00",
    "data_movement": "#56B4E9",
    "framework": "#909090",
}
# What an op type is, where only op rows say so: their labels are the vendors'.
TYPES = {
    "matrix": "matmul batched_matmul lstm lstm_cell rnn attention sampled_softmax",
    "convolution": "conv2d",
    "elementwise": "relu clipped_relu sigmoid tanh add sub mul div exp sqrt square neg bias_add huber_loss",
    "reduction": "batch_norm local_response_norm max_pool avg_pool softmax softmax_cross_entropy ctc_loss sum arg_max",
    "random": "normal uniform log_uniform dropout",
    "optimization": "sgd momentum adam adagrad rmsprop clip_norm",
    "data_movement": "embedding gather concat copy transpose fill pad",
}
TYPE_CLASSES = {one: op_class for op_class, types in TYPES.items() for one in types.split()}
LETTERS = dict(zip(CLASS_COLOURS, "ABCDEFG"))
MEMORY_COLOURS = dict(
    zip(
        MEMORY_CLASSES,
        ("#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#009E73", "#CC79A7", "#909090"),
    )
)
# Lines that are told apart by their names: no meaning in the colour.
LINE_COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#909090",
    "#A6761D",
)
FIRST, SECOND = "#0072B2", "#D55E00"  # where there are just two kinds

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


def op_class(name):
    """How a class is written."""
    return name.replace("_", " ")


def class_colour(name):
    return CLASS_COLOURS.get(name, CLASS_COLOURS["framework"])


def faded(colour, share):
    """The colour at an opacity, for a transparent background."""
    return (*matplotlib.colors.to_rgb(colour), float(np.clip(share, 0, 1)))


def axes(figure, height, rows=1, columns=1, **options):
    """Axes on a figure of the common width, squeezed to an array of `rows` by `columns`."""
    figure.set_size_inches(WIDTH, height)
    figure.set_layout_engine("constrained")
    return figure.subplots(rows, columns, squeeze=False, **options)


def panels(figure, count, columns=2, height=1.9, **options):
    """Axes of small multiples, one a panel; those left over are hidden."""
    columns = min(columns, count)
    rows = -(-count // columns)
    grid = axes(figure, max(height * rows, 2.6), rows, columns, **options).ravel()
    for left_over in grid[count:]:
        left_over.set_visible(False)
    return grid[:count]


def grid(axis, which="both"):
    axis.grid(axis=which, color=INK, alpha=0.12, linewidth=0.8)
    axis.tick_params(length=0)


def plain_log(axis, which="xy"):
    """Log axes that write plain numbers; call it when the data is drawn."""
    for name in which:
        getattr(axis, f"set_{name}scale")("log")
        low, high = getattr(axis, f"get_{name}lim")()
        steps = (1,) if high / low > 100 else (1, 2, 5) if high / low > 4 else range(1, 10)
        one = getattr(axis, f"{name}axis")
        one.set_major_locator(matplotlib.ticker.LogLocator(subs=list(steps)))
        one.set_major_formatter(lambda value, _: f"{value:,g}")
        one.set_minor_locator(matplotlib.ticker.NullLocator())


def count_axis(axis, counts):
    """Threads or batch sizes along x: doublings are equally far apart, the measured ones have ticks."""
    axis.set_xscale("log", base=2)
    axis.set_xticks(sorted(set(counts)), [str(count) for count in sorted(set(counts))])
    axis.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
