"""Time of op types in the profiled step, relative to the fastest kernels."""

import pandas as pd

from fathom_page import marks, palette, style
from fathom_page.figure import Figure, Missing
from fathom_page.hints import OPS, STEPS
from fathom_report import laws
from fathom_report.hints import command
from fathom_report.selection import (
    fastest_rows,
    hot_rows,
    of_setting,
    on_torch,
    one_setting,
    sums,
    usual_batch,
    with_settings_of,
)
from fathom_runs.words import percent, plural, time_words

NAME = ("ours-2", "Framework tax by op type", "fathom_bench")
MIN_SHARE = 0.5  # percent of a step; smaller op types are noise


def figure(run):
    data, words = taxes(run)
    if data is None:
        return Missing(
            *NAME,
            "op types of steps, and their ops on several backends with the same thread count: "
            + command(run, [STEPS, OPS], "--fathom_profile"),
        )
    return Figure(*NAME, sentence(data, words), data, lambda figure: draw(figure, data))


def taxes(run):
    """Time of each op type in the profiled step, and the sum of its hot shapes on the fastest backends, times calls."""
    inside, ops = run.op_types, hot_rows(run.ops)
    inside = inside[(inside.op_class != palette.FRAMEWORK) & (inside.pct_of_step >= MIN_SHARE)]
    inside = with_settings_of(on_torch(inside[inside.us > 0]), ops)
    if inside.empty:
        return None, ""
    inside, words = one_setting(inside)
    inside = usual_batch(inside, run.catalogue)
    ops = of_setting(ops, inside.iloc[0])
    keys = ["workload", "type"]
    best = sums(fastest_rows(ops), keys).rename(columns={"us": "fastest_kernels_us"})
    several = ops.groupby(keys).backend.nunique().rename("backends").reset_index()
    data = pd.concat(
        one for _, one in inside.groupby("mode", sort=False)
    )  # one mode after the other
    data = data.merge(best, on=["mode", *keys]).merge(several, on=keys)
    columns = ["workload", "mode", "type", "op_class", "in_step_us", "fastest_kernels_us"]
    data = data.rename(columns={"us": "in_step_us"})[[*columns, "backends", "pct_of_step"]]
    data = data[data.fastest_kernels_us > 0]
    if data.empty:
        return None, ""
    data = data.assign(
        tax_pct=100 * (data.in_step_us / data.fastest_kernels_us - 1),
        tax_us=data.in_step_us - data.fastest_kernels_us,
    )
    data = data.assign(tax_pct_of_step=data.pct_of_step * data.tax_us / data.in_step_us)
    return data.reset_index(drop=True), words


def by_type(data):
    """Geometric mean over steps of the ratio of each op type, largest first."""
    ratio = data.in_step_us / data.fastest_kernels_us
    return ratio.groupby(data.type).agg(laws.geometric_mean).sort_values(ascending=False)


def sentence(data, words):
    steps = data.groupby(["workload", "mode"])
    ratios = steps.in_step_us.sum() / steps.fastest_kernels_us.sum()
    types = by_type(data)
    count = data.groupby("type").size()[types.index[0]]
    top = data.loc[data.tax_pct_of_step.idxmax()]
    mean = laws.geometric_mean(ratios)
    over = f"{'geometric mean over ' if len(ratios) > 1 else ''}{plural(len(ratios), 'step')}"
    text = f"In the profiled step, ops take {mean:.2f} times as long as the fastest kernel of each shape ({over})"
    if len(types) > 1:
        where = (
            f"over {plural(count, 'step')}"
            if count > 1
            else f"in {data[data.type == types.index[0]].workload.iloc[0]}"
        )
        text += f"; {types.index[0]} has the largest ratio, {types.iloc[0]:.3g} times {where}"
    if top.tax_us > 0:
        text += (
            f". The largest difference is {top.type} in {top.workload}/{top['mode']}: {time_words(top.tax_us)}, "
            f"{percent(top.tax_pct_of_step)} of the step"
        )
    return f"{text}. Setting: {words}."


def draw(figure, data):
    types = by_type(data)
    (axis,) = style.axes(figure, 1.5 + 0.25 * len(types))[0]
    ratio = data.in_step_us / data.fastest_kernels_us
    for y, (op_type, mean) in enumerate(types.items()):
        mine = data.type == op_type
        colour = palette.class_colour(data[mine].op_class.iloc[0])
        line = ":" if (data[mine].backends < 2).all() else "-"
        axis.plot([1, mean], [y, y], line, color=colour, linewidth=2.5, alpha=0.6)
        for mode, fill in (("train", colour), ("infer", "none")):
            at = mine & (data["mode"] == mode)
            axis.scatter(
                ratio[at], [y] * at.sum(), s=26, facecolors=fill, edgecolors=colour, alpha=0.7
            )
        axis.plot(mean, y, "|", color=colour, markersize=13, markeredgewidth=2.5)
        farthest = data[mine].loc[ratio[mine].idxmax()]
        axis.annotate(
            farthest.workload,
            (max(ratio[mine].max(), 1), y),
            (9, 0),
            textcoords="offset points",
            va="center",
        )
    axis.axvline(1, color=style.INK, alpha=0.6, linewidth=0.8)
    axis.set_yticks(range(len(types)), types.index)
    axis.set_ylim(len(types) - 0.4, -0.6)
    low, high = min(ratio.min(), 0.9), max(ratio.max(), 1.1)
    axis.set_xlim(low / 1.05, high * (high / low) ** 0.25)
    style.plain_log(axis, "x")
    style.grid(axis, "x")
    axis.spines["left"].set_visible(False)
    axis.set_xlabel(
        "time in the profiled step / time of the fastest kernels; dotted: only LibTorch's kernel"
    )
    grey = palette.class_colour(palette.FRAMEWORK)
    kinds = [
        ("training", {"marker": "o", "color": grey}),
        ("inference", {"marker": "o", "color": grey, "markerfacecolor": "none"}),
        (
            "geometric mean",
            {"marker": "|", "color": grey, "markersize": 12, "markeredgewidth": 2.5},
        ),
    ]
    marks.marker_key(figure, kinds)
