"""Fathom's Fig. 3: a heat map of op types and workloads."""

import numpy as np

from fathom_page import marks, palette, style
from fathom_page.figure import Figure, Missing
from fathom_report.hints import profile
from fathom_report.selection import framework_as_one, training_types
from fathom_runs.words import listed, percent, plural

NAME = ("fathom-3", "Op types by workload", "Fathom, Fig. 3")
MIN_SHARE = 1  # percent; an op type is shown if it reaches this in any step


def figure(run):
    table, words = training_types(run)
    if table is None:
        return Missing(*NAME, profile(run))
    table = framework_as_one(table, ["workload"])
    workloads = list(dict.fromkeys(table.workload))
    data, left_out = shares(table)
    return Figure(
        *NAME,
        sentence(data, left_out, workloads, words),
        data,
        lambda figure: draw(figure, data, workloads),
    )


def shares(table):
    """Percent of the step by op type, in the order of classes, and the same of the op types that are left out."""
    found = table.assign(share_pct=table.pct_of_step)[["workload", "type", "op_class", "share_pct"]]
    most = found.groupby("type").share_pct.max()
    # Time between ops is always shown, even if it is short.
    is_kept = found.type.isin(most.index[most >= MIN_SHARE]) | (found.op_class == palette.FRAMEWORK)
    kept = found[is_kept]
    rank = kept.op_class.map(palette.in_order(kept.op_class).index)
    kept = kept.assign(rank=rank, most=kept.type.map(most))
    data = kept.sort_values(["rank", "most"], ascending=[True, False], kind="stable")
    data = data[["op_class", "type", "workload", "share_pct"]].reset_index(drop=True)
    return data, found[~found.type.isin(kept.type)]


def sentence(data, left_out, workloads, words):
    by_class = data.groupby(["workload", "op_class"]).share_pct.sum().unstack(fill_value=0)
    leading = by_class.loc[workloads].idxmax(axis=1)
    leads = [
        f"{'time between ops' if name == palette.FRAMEWORK else palette.class_words(name)} in {listed(ones.index)}"
        for name, ones in leading.groupby(leading, sort=False)
    ]
    top = data.loc[data.share_pct.idxmax()]
    text = (
        f"The class with the most time is {'; '.join(leads)}. The largest op type is {top.type} in {top.workload} "
        f"with {percent(top.share_pct)} of the step"
    )
    if not left_out.empty:
        types, sums = left_out.type.nunique(), left_out.groupby("workload").share_pct.sum()
        text += (
            f"; {plural(types, 'op type')} below {MIN_SHARE} % in every step {'is' if types == 1 else 'are'} left out, "
            f"together at most {percent(sums.max())} ({sums.idxmax()})"
        )
    return f"{text}. Setting: {words}."


def draw(figure, data, workloads):
    types = list(dict.fromkeys(data.type))
    classes = dict(zip(data.type, data.op_class))
    (axis,) = style.axes(figure, 1.3 + 0.23 * len(types))[0]
    for row in data.itertuples():
        x, y = workloads.index(row.workload), types.index(row.type)
        # The square root makes small shares visible. The numbers are exact.
        colour = style.faded(
            palette.class_colour(row.op_class), 0.85 * np.sqrt(row.share_pct / 100)
        )
        marks.cell(
            axis, x, y, colour, f"{row.share_pct:.0f}" if row.share_pct >= MIN_SHARE / 2 else ""
        )
    axis.set_xlim(-0.5, len(workloads) - 0.5)
    axis.set_ylim(len(types) - 0.5, -0.5)
    marks.name_axes(axis, workloads, types)
    for op_class in dict.fromkeys(classes.values()):
        rows = [row for row, name in enumerate(types) if classes[name] == op_class]
        letter = palette.LETTERS.get(op_class)
        text = (
            f"{letter}  {palette.class_words(op_class)}"
            if letter
            else palette.class_words(op_class)
        )
        axis.annotate(
            text,
            (1, (rows[0] + rows[-1]) / 2),
            xycoords=("axes fraction", "data"),
            xytext=(10, 0),
            textcoords="offset points",
            va="center",
            color=palette.class_colour(op_class),
            annotation_clip=False,
        )
        axis.axhline(rows[-1] + 0.5, color=style.INK, alpha=0.25, linewidth=0.8)
    axis.set_xlabel("% of the training step", labelpad=6)
