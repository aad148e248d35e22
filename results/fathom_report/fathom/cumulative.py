"""Fathom's Fig. 2: cumulative share of the time over op types."""

import pandas as pd

from fathom_page import marks, palette, style
from fathom_page.figure import Figure, Missing
from fathom_report import laws
from fathom_report.hints import profile
from fathom_report.selection import (
    of_setting,
    step_backend_rows,
    sums,
    training_ops,
    training_types,
)
from fathom_runs.words import plural

NAME = ("fathom-2", "Cumulative time over op types", "Fathom, Fig. 2")
ENOUGH = 90  # percent


def figure(run):
    ops, words = training_ops(run)
    if ops is None:
        return Missing(*NAME, profile(run))
    data = cumulative(ops)
    text = f"{sentence(data)}{sentence_of_passes(by_pass(run, ops))}. Setting: {words}."
    return Figure(*NAME, text, data, lambda figure: draw(figure, data))


def cumulative(ops):
    """Op types of each workload, largest time first, with cumulative shares."""
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
    return pd.concat(parts, ignore_index=True)


def by_pass(run, ops):
    """Times of the passes of op types in each workload, which are op types of their own in Fathom's TensorFlow.

    The time of a type inside the step is divided among its passes as the times of its op rows are. A type without rows
    has one pass. Empty without op rows of any.
    """
    types, _ = training_types(run)
    rows = of_setting(step_backend_rows(run.ops), types.iloc[0])
    keys = ["workload", "type"]
    rows = sums(rows, (*keys, "pass_")).rename(columns={"us": "part"})
    rows = rows[(rows["mode"] == "train") & (rows.part > 0)].drop(columns="mode")
    divided = ops[[*keys, "us"]].merge(rows, how="left")
    if divided.part.isna().all():
        return divided.iloc[:0]
    divided = divided.fillna({"part": 1})
    return divided.assign(
        us=divided.us * divided.part / divided.groupby(keys).part.transform("sum")
    )


def needed_types(shares):
    """How many types reach `ENOUGH`, by workload, from cumulative shares by workload."""
    return {workload: laws.count_for(one, ENOUGH) for workload, one in shares}


def sentence_of_passes(passes):
    if passes.empty:
        return ""
    needed = needed_types(
        (workload, laws.cumulative_shares(one.us))
        for workload, one in passes.groupby("workload", sort=False)
    )
    most, least = max(needed, key=needed.get), min(needed, key=needed.get)
    count = f"{needed[least]} ({least}) to " if needed[least] < needed[most] else ""
    where = f" ({most})" if count else ""
    return f". With passes as types of their own, as in TensorFlow: {count}{needed[most]}{where}"


def sentence(data):
    needed = needed_types(
        (workload, one.cumulative_pct) for workload, one in data.groupby("workload", sort=False)
    )
    most, least = max(needed, key=needed.get), min(needed, key=needed.get)
    totals = data.groupby("workload").size()

    def named(workload):
        first = data[data.workload == workload].type.iloc[0]
        return f"{workload} (largest: {first})"

    if len(needed) == 1:
        count, total = needed[most], totals[most]
        text = (
            f"{plural(count, 'op type')} of {total} take{'s' if count == 1 else ''} {ENOUGH} % of "
            f"{most}'s time in ops"
        )
    elif needed[most] == needed[least]:
        count = needed[most]
        text = (
            f"In each of {len(needed)} training steps, {plural(count, 'op type')} "
            f"take{'s' if count == 1 else ''} {ENOUGH} % of the time in ops"
        )
    else:
        text = (
            f"{needed[least]} to {needed[most]} op types take {ENOUGH} % of the time in ops of "
            f"{len(needed)} training steps: the fewest in {named(least)}, the most in {named(most)}"
        )
    return text


def draw(figure, data):
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
    axis.set_xlabel("op types, largest time first")
    axis.yaxis.tick_right()
    axis.yaxis.set_label_position("right")
    axis.set_ylabel("% of the time in ops")
    axis.spines["left"].set_visible(False)
    style.grid(axis)
    marks.end_labels(axis, labels, 0.06, left=True)
    marks.class_key(
        axis, data.drop_duplicates("workload").op_class, "colour: class of the largest op type"
    )
