"""Fathom's Figs. 2 to 4, from one profile of the training steps: which op types they are made of."""

import numpy as np
import pandas as pd

from fathom_report import fathom_likeness, laws, marks, palette, style
from fathom_report.figure import Figure, Missing
from fathom_report.selection import PROFILE, framework_as_one, training_types
from fathom_runs.words import listed, percent, plural

NAMES = [
    ("fathom-2", "Cumulative time over op types", "Fathom, Fig. 2"),
    ("fathom-3", "Op types by workload", "Fathom, Fig. 3"),
]
ENOUGH = 90  # percent
LEAST = 1  # percent of some step, for a type to be in the heat map


def figures(run):
    table, words = training_types(run)
    if table is None:
        needs = f"op types of training steps: {PROFILE}"
        yield from (Missing(*name, needs) for name in (*NAMES, fathom_likeness.NAME))
        return
    table = framework_as_one(table, ["workload"])
    ops = table[table.op_class != "framework"]
    yield cumulative(ops, words)
    yield heat_map(table, words)
    yield fathom_likeness.likeness(ops, words)


# --- Fig. 2


def cumulative(ops, words):
    parts = []
    for _, one in ops.groupby("workload", sort=False):
        one = one.sort_values("us", ascending=False, kind="stable").reset_index(drop=True)
        shares = laws.cumulative_shares(one.us)
        parts.append(
            one[["workload", "type", "op_class"]].assign(
                rank=range(1, len(one) + 1),
                time_us=one.us,
                share_pct=100 * one.us / one.us.sum(),
                cumulative_pct=shares,
            )
        )
    data = pd.concat(parts, ignore_index=True)
    needed = {
        workload: laws.count_for(one.cumulative_pct, ENOUGH)
        for workload, one in data.groupby("workload", sort=False)
    }
    most, least = max(needed, key=needed.get), min(needed, key=needed.get)
    totals = data.groupby("workload").size()

    def named(workload):
        first = data[data.workload == workload].type.iloc[0]
        return f"{workload}, which starts with {first}"

    if len(needed) == 1:
        count, total = needed[most], totals[most]
        sentence = (
            f"{plural(count, 'op type')} of {total} take{'s' if count == 1 else ''} {ENOUGH} % of "
            f"{most}'s time in ops"
        )
    elif needed[most] == needed[least]:
        count = needed[most]
        sentence = (
            f"In each of {len(needed)} training steps, {plural(count, 'op type')} "
            f"take{'s' if count == 1 else ''} {ENOUGH} % of the time in ops"
        )
    else:
        sentence = (
            f"{needed[least]} to {needed[most]} op types take {ENOUGH} % of the time in ops of "
            f"{len(needed)} training steps: fewest in {named(least)}, most in {named(most)}"
        )
    return Figure(
        *NAMES[0], f"{sentence} ({words}).", data, lambda figure: draw_cumulative(figure, data)
    )


def draw_cumulative(figure, data):
    (axis,) = style.axes(figure, 3.8)[0]
    labels = []
    for workload, one in data.groupby("workload", sort=False):
        colour = palette.class_colour(one.op_class.iloc[0])
        axis.plot(one["rank"], one.cumulative_pct, color=colour, alpha=0.85)
        at = one[one.cumulative_pct >= ENOUGH - 1e-9].iloc[0]
        axis.plot(at["rank"], at.cumulative_pct, "o", color=colour, markersize=6)
        first = one.iloc[0]
        text = f"{workload}: {first.type} {first.share_pct:.0f} %"
        labels.append((1, first.cumulative_pct, text, colour))
    axis.axhline(ENOUGH, color=style.INK, alpha=0.5, linewidth=0.8, linestyle="--")
    last = max(min(data["rank"].max(), 16), 2)
    axis.set_xlim(0.95, last + 0.1)
    axis.set_ylim(0, 102)
    axis.set_xticks(range(1, last + 1))
    axis.set_yticks([0, 25, 50, 75, ENOUGH, 100])
    axis.set_xlabel("op types, those of most time first")
    axis.yaxis.tick_right()
    axis.yaxis.set_label_position("right")
    axis.set_ylabel("% of the time in ops")
    axis.spines["left"].set_visible(False)
    style.grid(axis)
    marks.end_labels(axis, labels, 0.06, left=True)
    marks.class_key(
        axis, data.drop_duplicates("workload").op_class, "colour: class of the first type"
    )


# --- Fig. 3


def heat_map(table, words):
    shares = table.assign(share_pct=table.pct_of_step)[
        ["workload", "type", "op_class", "share_pct"]
    ]
    most = shares.groupby("type").share_pct.max()
    # Time between ops is shown however short it is: that it is short is worth knowing.
    kept = shares[shares.type.isin(most.index[most >= LEAST]) | (shares.op_class == "framework")]
    left_out = shares[~shares.type.isin(kept.type)]
    rank = {name: number for number, name in enumerate(palette.CLASS_COLOURS)}
    kept = kept.assign(rank=kept.op_class.map(rank), most=kept.type.map(most))
    data = kept.sort_values(["rank", "most"], ascending=[True, False], kind="stable")
    data = data[["op_class", "type", "workload", "share_pct"]].reset_index(drop=True)
    workloads = list(dict.fromkeys(table.workload))
    return Figure(
        *NAMES[1],
        heat_map_sentence(data, left_out, workloads, words),
        data,
        lambda figure: draw_heat_map(figure, data, workloads),
    )


def heat_map_sentence(data, left_out, workloads, words):
    by_class = data.groupby(["workload", "op_class"]).share_pct.sum().unstack(fill_value=0)
    leading = by_class.loc[workloads].idxmax(axis=1)
    leads = [
        f"{'time between ops' if name == 'framework' else palette.op_class(name) + ' ops'} in {listed(ones.index)}"
        for name, ones in leading.groupby(leading, sort=False)
    ]
    top = data.loc[data.share_pct.idxmax()]
    sentence = (
        f"Most time goes to {'; '.join(leads)}. The heaviest op type is {top.type} in {top.workload} "
        f"with {percent(top.share_pct)} of the step"
    )
    if not left_out.empty:
        types, sums = left_out.type.nunique(), left_out.groupby("workload").share_pct.sum()
        sentence += (
            f"; {plural(types, 'type')} below {LEAST} % in every step {'is' if types == 1 else 'are'} left out, "
            f"together at most {percent(sums.max())} ({sums.idxmax()})"
        )
    return f"{sentence} ({words})."


def draw_heat_map(figure, data, workloads):
    types = list(dict.fromkeys(data.type))
    classes = dict(zip(data.type, data.op_class))
    (axis,) = style.axes(figure, 1.3 + 0.23 * len(types))[0]
    for row in data.itertuples():
        x, y = workloads.index(row.workload), types.index(row.type)
        # The root shows small shares; numbers tell the rest.
        colour = style.faded(
            palette.class_colour(row.op_class), 0.85 * np.sqrt(row.share_pct / 100)
        )
        marks.cell(axis, x, y, colour, f"{row.share_pct:.0f}" if row.share_pct >= LEAST / 2 else "")
    axis.set_xlim(-0.5, len(workloads) - 0.5)
    axis.set_ylim(len(types) - 0.5, -0.5)
    marks.name_axes(axis, workloads, types)
    for op_class in dict.fromkeys(classes.values()):
        rows = [row for row, name in enumerate(types) if classes[name] == op_class]
        letter = palette.LETTERS.get(op_class)
        text = f"{letter}  {palette.op_class(op_class)}" if letter else palette.op_class(op_class)
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
