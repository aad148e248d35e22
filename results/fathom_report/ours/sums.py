"""Each step as the sum of its ops, the time between ops, and a remainder."""

import pandas as pd

from fathom_page import marks, palette, style
from fathom_page.figure import Figure, Missing
from fathom_page.hints import OPS, STEPS
from fathom_report.hints import command
from fathom_report.selection import (
    SETTING,
    SHAPE,
    of_setting,
    of_step,
    on_torch,
    one_setting,
    step_backend_rows,
    step_names,
    sums,
    usual_batch,
    without_rows,
)
from fathom_runs.words import percent, ranged

NAME = ("ours-4", "Steps as sums of their ops", "fathom_bench")
BETWEEN, WITHOUT, REST = "between ops", "ops without rows", "remainder"
MIN_SHARE, MOST = 0.1, 3  # percent of the step below which no op type is named, and how many are


def figure(run):
    data, words = parts(run)
    if data is None:
        return Missing(
            *NAME,
            "steps with op types, and their op rows with the same thread count: "
            + command(run, [STEPS, OPS], "--fathom_profile"),
        )
    return Figure(*NAME, sentence(data, words), data, lambda figure: draw(figure, data))


def steps_with_ops(run):
    """Yields each step that has op rows of its setting, its profiled op types, and the sums of its ops by type.

    A profiled step is longer than a timed one, so shares of the profiled step are applied to the timed one.
    """
    hot, cold = (step_backend_rows(run.ops, cache).set_index(SHAPE) for cache in ("hot", "cold"))
    ops = hot.assign(cold_us=cold.us.reindex(hot.index).fillna(hot.us)).reset_index()
    types = run.op_types[run.op_types.pct_of_step >= 0]
    types = types.assign(step=step_names(types))
    for _, step in usual_batch(on_torch(run.steps[run.steps.us > 0]), run.catalogue).iterrows():
        mine = of_step(sums(of_setting(ops, step), values=("us", "cold_us")), step)
        if mine.us.sum() > 0:
            its = types[types.step == step["name"]]
            yield step, its.assign(us=its.pct_of_step / 100 * step.us), mine


def with_ops(run):
    """The table of all such steps."""
    has_cold = (run.ops.cache == "cold").any()
    rows = []
    for step, types, mine in steps_with_ops(run):
        row = step[["workload", "mode", "batch", *SETTING, "us"]].to_dict()
        row |= {"sum_us": mine.us.sum(), "sum_pct_of_step": 100 * mine.us.sum() / step.us}
        if has_cold:
            row["cold_sum_pct_of_step"] = 100 * mine.cold_us.sum() / step.us
        if len(types):
            without = without_rows(types, mine)
            inside = types.set_index("type").us
            gaps = inside - mine.set_index("type").us
            row |= {
                "between_pct_of_step": between(types).pct_of_step.sum(),
                "types_without_rows": named(without.set_index("type").pct_of_step, "{:.1f}"),
                "differences": named(100 * gaps.dropna() / step.us, "{:+.1f}", MOST),
            }
        rows.append(row)
    return pd.DataFrame(rows)


def between(types):
    return types[types.op_class == palette.FRAMEWORK]


def named(shares, form, most=None):
    """The types above MIN_SHARE with their shares, largest first."""
    shares = shares[shares.abs() >= MIN_SHARE].sort_values(key=lambda one: -one.abs())[:most]
    return ", ".join(f"{one} {form.format(share)}" for one, share in shares.items()) or "none"


def parts(run):
    """Parts of each step: hot op rows by class, times their calls; time of other op types and between ops, as profiled;
    and the remainder. Of one setting.
    """
    found = {step["name"]: one for one in steps_with_ops(run) if len(one[1]) for step in one[:1]}
    steps = run.steps[run.steps["name"].isin(found)]
    if steps.empty:
        return None, ""
    steps, words = one_setting(steps)
    rows = []
    for name in steps["name"]:
        step, types, mine = found[name]
        times = mine.groupby("op_class").us.sum().to_dict()
        times |= {WITHOUT: without_rows(types, mine).us.sum(), BETWEEN: between(types).us.sum()}
        times = {part: us for part, us in times.items() if us > 0}
        times[REST] = step.us - pd.Series(times).sum()
        rows += [
            {
                "workload": step.workload,
                "mode": step["mode"],
                "part": part,
                "us": us,
                "pct_of_step": 100 * us / step.us,
                "step_us": step.us,
            }
            for part, us in times.items()
        ]
    return pd.DataFrame(rows), words


def sentence(data, words):
    steps = data.assign(step=data.workload + "/" + data["mode"])
    others = [BETWEEN, WITHOUT, REST]
    ops = steps[~steps.part.isin(others)].groupby("step", sort=False).pct_of_step.sum()
    between = steps[steps.part == BETWEEN].set_index("step").pct_of_step
    rest = steps[steps.part == REST].set_index("step").pct_of_step
    text = f"The sum of the separately timed ops is {ranged(ops)} of the step"
    if not between.empty:
        text += f"; the time between ops is at most {percent(between.max())} ({between.idxmax()})"
    far = rest.abs().idxmax()
    comparison = "longer" if rest[far] >= 0 else "shorter"
    text += (
        f"; the largest remainder is {percent(rest[far])} of {far}: this step is {comparison} than "
        "the sum of its parts"
    )
    if words.startswith("GPU"):
        text += (
            ". An op timed separately includes its launch. In a step, launches are time between ops, "
            "so they count twice"
        )
    return f"{text}. Setting: {words}."


def draw(figure, data):
    steps = list(dict.fromkeys(zip(data.workload, data["mode"])))
    (axis,) = style.axes(figure, 1.5 + 0.27 * len(steps))[0]
    classes = palette.in_order(set(data.part) - {BETWEEN, WITHOUT, REST})
    colours = {name: palette.class_colour(name) for name in classes}
    colours |= {BETWEEN: palette.class_colour(palette.FRAMEWORK), WITHOUT: "none"}
    shown = [part for part in colours if (data.part == part).any()]
    for y, (workload, mode) in enumerate(steps):
        mine = (
            data[(data.workload == workload) & (data["mode"] == mode)].set_index("part").pct_of_step
        )
        left = 0
        for part in [part for part in shown if part in mine]:
            marks.bar_piece(axis, y, left, mine[part], colours[part])
            left += mine[part]
        axis.text(max(left, 100) + 1.5, y, f"{round(mine[REST]):+d}", va="center")
    axis.axvline(100, color=style.INK, linewidth=1)
    axis.set_yticks(range(len(steps)), [f"{workload}/{mode}" for workload, mode in steps])
    axis.set_ylim(len(steps) - 0.5, -0.5)
    axis.set_xlim(0, None)
    style.grid(axis, "x")
    axis.spines["left"].set_visible(False)
    axis.set_xlabel("% of the timed step; number: the remainder")
    kinds = [
        (
            palette.class_words(part),
            {"marker": "s", "color": style.INK, "markerfacecolor": colours[part]}
            if part == WITHOUT
            else {"marker": "s", "color": colours[part]},
        )
        for part in shown
    ]
    marks.marker_key(figure, kinds, columns=4)
