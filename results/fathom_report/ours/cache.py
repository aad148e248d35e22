"""Ops with hot and with cold buffers."""

import numpy as np

from fathom_page import marks, palette, style
from fathom_page.figure import Figure, Missing
from fathom_page.hints import OPS
from fathom_report import laws
from fathom_report.hints import command
from fathom_report.selection import SETTING, SHAPE, one_setting_of_steps, step_backend_rows
from fathom_runs.peaks import roof as roof_of
from fathom_runs.words import listed, plural

LABELLED = 1.25  # cold time / hot time; op types above it are labelled
NAME = ("ours-3", "Hot and cold buffers", "fathom_bench")


def figure(run):
    data, words, roof = pairs(run)
    if data is None:
        return Missing(
            *NAME,
            f"op rows with bytes, hot and cold: {command(run, [OPS], '--fathom_cache=hot,cold')}",
        )
    return Figure(*NAME, sentence(data, roof, words), data, lambda figure: draw(figure, data, roof))


def pairs(run):
    """Pairs of hot and cold rows of an op, on the backend that steps run."""
    ops = run.ops[(run.ops.us > 0) & (run.ops.bytes > 0)]
    hot, cold = (step_backend_rows(ops, cache) for cache in ("hot", "cold"))
    same = [*SHAPE, "backend"]
    both = hot.merge(cold[[*same, "us"]], on=same, suffixes=("", "_cold"))
    if both.empty:
        return None, "", None
    both, words = one_setting_of_steps(both)
    roof = roof_of(run.context, *both.iloc[0][SETTING])
    data = both[["workload", "type", "layer", "pass_"]].rename(columns={"pass_": "pass"})
    data = data.assign(
        op_class=both.op_class,
        hot_us=both.us,
        cold_us=both.us_cold,
        cold_over_hot=both.us_cold / both.us,
        hot_bytes_per_second=both.bytes,
    )
    return data.reset_index(drop=True), words, roof


def by_type(data):
    return data.groupby("type").cold_over_hot.agg(laws.geometric_mean).sort_values(ascending=False)


def sentence(data, roof, words):
    types, counts = by_type(data), data.type.value_counts()
    means = laws.geometric_mean(data.cold_over_hot)
    text = (
        f"With cold buffers, {plural(len(data), 'op shape')} take{'s' if len(data) == 1 else ''} "
    )
    text += f"{means:.2f} times as long as with hot buffers"
    text += " (geometric mean)" if len(data) > 1 else ""
    most, least = f"{types.iloc[0]:.2f}", f"{types.iloc[-1]:.2f}"
    if most != least:
        text += f": {types.index[0]} the most, {most} times over {plural(counts[types.index[0]], 'shape')}"
        text += f", {types.index[-1]} the least, {least} times"
    if roof:
        fast = data.hot_bytes_per_second > roof.bytes
        if not fast.any():
            text += (
                f". No hot op exceeds the measured memory bandwidth of {roof.bytes / 1e9:.3g} GB/s"
            )
        else:
            slow = laws.geometric_mean(data[fast].cold_over_hot)
            text += (
                f". Hot, {plural(fast.sum(), 'shape')} of {listed(data[fast].type.value_counts().index, most=4)} "
                f"exceed{'s' if fast.sum() == 1 else ''} the measured memory bandwidth of {roof.bytes / 1e9:.3g} GB/s, "
                f"so data comes from caches; cold, {'it takes' if fast.sum() == 1 else 'they take'} "
                f"{slow:.2f} times as long"
            )
    return f"{text}. Setting: {words}."


def draw(figure, data, roof):
    (axis,) = style.axes(figure, 4.2)[0]
    for op_class, one in data.groupby("op_class"):
        colour = palette.class_colour(op_class)
        rate = one.hot_bytes_per_second / 1e9
        axis.scatter(
            rate,
            one.cold_over_hot,
            s=24,
            color=style.faded(colour, 0.45),
            edgecolors=colour,
            linewidths=0.6,
        )
    axis.axhline(1, color=style.INK, alpha=0.5, linewidth=0.8)
    high = max(data.cold_over_hot.max(), 2) * 1.3
    axis.set_ylim(min(data.cold_over_hot.min(), 0.9) / 1.1, high)
    style.plain_log(axis)
    style.grid(axis)
    if roof:
        peak = roof.bytes / 1e9
        left, right = axis.get_xlim()
        line = np.geomspace(peak, max(right, 2 * peak), 20)
        axis.plot(line, line / peak, color=style.INK, linewidth=1, linestyle="--")
        axis.set_xlim(left, max(right, 2 * peak))
        axis.axvline(peak, color=style.INK, linewidth=1, linestyle="--")
        axis.annotate(
            f"bandwidth {peak:.3g} GB/s",
            (peak, high),
            (-4, -4),
            textcoords="offset points",
            ha="right",
            va="top",
        )
    labels = []
    means = by_type(data)
    for op_type in means.index[means > LABELLED]:
        one = data[data.type == op_type]
        top = one.loc[one.cold_over_hot.idxmax()]
        labels.append(
            (
                top.hot_bytes_per_second / 1e9,
                top.cold_over_hot,
                op_type,
                palette.class_colour(top.op_class),
            )
        )
    marks.point_labels(axis, labels)
    axis.set_xlabel("GB/s of inputs and outputs, hot; slanted line: cold at the measured bandwidth")
    axis.set_ylabel("cold time / hot time")
    marks.class_key(axis, data.op_class, where="upper left")
