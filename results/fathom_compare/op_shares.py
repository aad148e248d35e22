"""The shares of the peaks that single ops reach on both sides."""

import pandas as pd

from fathom_compare.interval import geometric_mean
from fathom_page import marks, palette, style
from fathom_page.figure import Figure, Missing
from fathom_page.hints import OPS
from fathom_runs.words import of_peak, plural

NAME = ("Shares of the peaks in single ops", "fathom_bench")
SHAPE = ["type", "workload", "layer", "pass_", "threads", "precision", "cache", "backend"]
PEAKS = {"flops": "FLOP/s", "bytes": "bytes/s"}


def figure(comparison):
    name = (f"opshares{comparison.key}", *NAME)
    parts = [points(comparison.ops, rate).assign(peak=words) for rate, words in PEAKS.items()]
    data = pd.concat(parts, ignore_index=True)
    if data.empty:
        needs = f"op rows with shares of a peak on both sides: {comparison.command([OPS])}"
        return Missing(*name, needs)
    data = data.rename(columns={"pass_": "pass"})
    text = " ".join(
        sentence(rows, peak, comparison) for peak, rows in data.groupby("peak", sort=False)
    )
    return Figure(
        *name, text, comparison.lettered(data), lambda figure: draw(figure, data, comparison)
    )


def points(ops, rate):
    """Op rows with hot buffers and a share of a peak on both sides."""
    base, other = (ops[f"{side}_{rate}_pct_peak"] for side in ("base", "other"))
    table = ops[[*SHAPE, "op_class"]].assign(base_pct=base, other_pct=other)
    return table[(table.cache == "hot") & (base > 0) & (other > 0)]


def sentence(rows, peak, comparison):
    base, other = comparison.base.letter, comparison.other.letter
    lower = int((rows.other_pct < rows.base_pct).sum())
    means = [of_peak(geometric_mean(one).value) for one in (rows.base_pct, rows.other_pct)]
    return (
        f"Of the {peak} peak, {plural(len(rows), 'op row')} {'reaches' if len(rows) == 1 else 'reach'} {means[0]} on "
        f"{base} and {means[1]} on {other} (geometric means); the share of {other} is lower in {lower}."
    )


def draw(figure, data, comparison):
    peaks = [peak for peak in PEAKS.values() if (data.peak == peak).any()]
    axes = style.axes(figure, 3.9, 1, len(peaks))[0]
    for axis, peak in zip(axes, peaks):
        rows = data[data.peak == peak]
        for op_class, one in rows.groupby("op_class", sort=False):
            colour = palette.class_colour(op_class)
            axis.scatter(
                one.base_pct,
                one.other_pct,
                s=20,
                color=style.faded(colour, 0.45),
                edgecolors=colour,
                linewidths=0.5,
            )
        most = 1.05 * max(rows.base_pct.max(), rows.other_pct.max())
        axis.plot([0, most], [0, most], color=style.INK, alpha=0.5, linewidth=0.8)
        axis.set(xlim=(0, most), ylim=(0, most), aspect="equal")
        axis.set_title(f"% of the {peak} peak")
        axis.set_xlabel(comparison.base.letter)
        axis.set_ylabel(comparison.other.letter)
        style.grid(axis)
    kinds = [
        (palette.class_words(one), {"marker": "o", "color": palette.class_colour(one)})
        for one in palette.in_order(data.op_class)
    ]
    marks.marker_key(figure, kinds, columns=4)
