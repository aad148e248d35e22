"""The speed-up of op types inside steps."""

import pandas as pd

from fathom_compare.interval import MIN_WORKLOADS, geometric_mean
from fathom_compare.means import MODES
from fathom_compare.ratio_axis import ratio_axis
from fathom_compare.selection import SETTING, by_setting, last_setting
from fathom_page import marks, palette, style
from fathom_page.figure import Figure, Missing
from fathom_page.hints import TRAIN
from fathom_runs.catalogue import FRAMEWORK
from fathom_runs.words import plural

NAME = ("Speed-up of op types in training steps", "fathom_bench")
MIN_SHARE = 0.5  # percent of a step on one side; smaller op types are noise
STEP = ["workload", "mode", "batch", *SETTING, "usual"]
SUMS = ["base_us", "other_us", "base_pct_of_step", "other_pct_of_step"]


def figure(comparison):
    name = (f"optypes{comparison.key}", *NAME)
    found = last_setting(of_mode(comparison, "train"))
    if found is None:
        wanted = comparison.command([TRAIN], "--fathom_profile")
        return Missing(*name, f"op types of training steps on both sides: {wanted}")
    words, rows = found
    data = table_of(rows)
    return Figure(
        *name,
        sentence(data, words, comparison),
        comparison.lettered(data),
        lambda figure: draw(figure, rows, data, comparison),
    )


def of_mode(comparison, mode):
    """Op types of the usual steps that take at least MIN_SHARE of the step on one side."""
    types = comparison.op_types
    types = merged(types[(types["mode"] == mode) & types.usual])
    share = types[["base_pct_of_step", "other_pct_of_step"]].max(axis=1)
    return types[share >= MIN_SHARE]


def merged(types):
    """The class framework (time between ops, views, reshapes) as one op type of each step."""
    kinds = types.type.where(types.op_class != FRAMEWORK, FRAMEWORK)
    steps = types.assign(type=kinds).groupby([*STEP, "type", "op_class"], sort=False, dropna=False)
    rows = steps[SUMS].sum().reset_index()
    return rows.assign(speedup=rows.base_us / rows.other_us)


def table_of(rows):
    """One row per op type: its time summed over the steps, and the mean of its speed-ups. Longest time first."""
    made = []
    for (op_type, op_class), one in rows.groupby(["type", "op_class"], sort=False):
        mean, base, other = geometric_mean(one.speedup), one.base_us.sum(), one.other_us.sum()
        made.append(
            {
                "type": op_type,
                "op_class": op_class,
                "steps": mean.count,
                "base_us": base,
                "other_us": other,
                "speedup_of_sum": base / other,
                "speedup": mean.value,
                "low": mean.low,
                "high": mean.high,
            }
        )
    return pd.DataFrame(made).sort_values("base_us", ascending=False, ignore_index=True)


def every_setting(comparison):
    """The tables of all modes and settings, as one."""
    parts = [
        table_of(rows).assign(mode=words, setting=setting)
        for mode, words in MODES.items()
        for setting, rows in by_setting(of_mode(comparison, mode))
    ]
    if not parts:
        return pd.DataFrame()
    table = pd.concat(parts, ignore_index=True)
    return table[["mode", "setting", *table.columns.drop(["mode", "setting"])]]


def sentence(data, words, comparison):
    base, other = comparison.base.letter, comparison.other.letter
    order = data.sort_values("speedup", kind="stable")
    common = order[order.steps >= MIN_WORKLOADS]  # the others say little about the machines
    order = common if len(common) > 1 else order
    least, most = order.iloc[0], order.iloc[-1]
    among = f"Of op types in at least {MIN_WORKLOADS} steps, " if len(common) > 1 else ""
    text = (
        f"{among}{other} gains most over {base} in {most.type} ({most.speedup:.3g} times as fast, "
        f"{over(most)}) and least in {least.type} ({least.speedup:.3g} times, {over(least)})"
    )
    slower = int((data.speedup < 1).sum())
    text += f". It is slower in {slower} of {plural(len(data), 'op type')}"
    longest = data.iloc[0]
    share = 100 * longest.base_us / data.base_us.sum()
    text += (
        f". {longest.type} takes {share:.0f} % of the time of these steps on {base}; "
        f"its sum is {longest.speedup_of_sum:.3g} times as fast on {other}"
    )
    return f"{text}. Setting: {words}."


def over(row):
    mean = "geometric mean over " if row.steps > 1 else ""
    return f"{mean}{plural(row.steps, 'step')}"


def draw(figure, rows, data, comparison):
    data = data.sort_values("speedup", ascending=False, ignore_index=True)
    (axis,) = style.axes(figure, 1.5 + 0.25 * len(data))[0]
    for y, one in data.iterrows():
        colour = palette.class_colour(one.op_class)
        mine = rows[rows.type == one.type]
        axis.scatter(mine.speedup, [y] * len(mine), s=22, color=colour, alpha=0.35, linewidths=0)
        if one.low == one.low:
            axis.plot([one.low, one.high], [y, y], color=colour, linewidth=2)
        axis.plot(one.speedup, y, "D", color=colour, markersize=6)
    axis.axvline(1, color=style.INK, linewidth=1)
    axis.set_yticks(range(len(data)), data.type)
    axis.set_ylim(len(data) - 0.4, -0.6)
    ratio_axis(axis, [*rows.speedup, *data.low, *data.high])
    style.grid(axis, "x")
    axis.spines["left"].set_visible(False)
    axis.set_xlabel(f"times as fast as {comparison.base.letter}")
    grey = palette.class_colour(FRAMEWORK)
    kinds = [
        ("a training step", {"marker": "o", "color": grey, "alpha": 0.4, "markersize": 5}),
        ("geometric mean, with its interval over workloads", {"marker": "D", "color": grey}),
    ]
    marks.marker_key(figure, kinds)
