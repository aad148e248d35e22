"""Each step as the sum of its ops, the time between ops, and a remainder."""

import pandas as pd

from fathom_page import marks, palette, style
from fathom_page.figure import Figure, Missing
from fathom_page.hints import OPS, STEPS
from fathom_report.hints import command
from fathom_report.selection import (
    of_setting,
    on_torch,
    one_setting,
    step_backend_rows,
    step_names,
    us_per_step,
    usual_batch,
    with_settings_of,
    without_rows,
)
from fathom_runs.words import percent, ranged

NAME = ("ours-4", "Steps as sums of their ops", "fathom_bench")
BETWEEN, WITHOUT, REST = "between ops", "ops without rows", "remainder"


def figure(run):
    data, words = parts(run)
    if data is None:
        return Missing(
            *NAME,
            "steps with op types, and their op rows with the same thread count: "
            + command(run, [STEPS, OPS], "--fathom_profile"),
        )
    return Figure(*NAME, sentence(data, words), data, lambda figure: draw(figure, data))


def parts(run):
    """Parts of each step: hot op rows by class, times their calls; time of other op types and between ops, as profiled;
    and the remainder.
    """
    ops = step_backend_rows(run.ops)
    profiled = on_torch(run.op_types[run.op_types.pct_of_step >= 0])
    profiled = with_settings_of(profiled, ops)
    profiled = profiled[profiled.workload.isin(ops.workload)]
    if profiled.empty:
        return None, ""
    profiled, words = one_setting(profiled)
    profiled = usual_batch(profiled, run.catalogue)
    ops = of_setting(ops, profiled.iloc[0])
    step_us = run.steps[run.steps.us > 0].set_index("name").us
    rows = []
    for name, types in profiled.groupby(step_names(profiled), sort=False):
        workload, mode = types.iloc[0][["workload", "mode"]]
        mine = ops[ops.workload == workload]
        sums = us_per_step(mine, mode).groupby([mine.type, mine.op_class]).sum()
        if name not in step_us.index or not sums.sum() > 0:
            continue
        total = step_us[name]
        # A profiled step is longer than a timed one, so shares of the profiled step are applied to the timed one.
        types = types.assign(us=types.pct_of_step / 100 * total)
        outside = types[types.op_class == palette.FRAMEWORK].us.sum()
        without = without_rows(types, mine).us.sum()
        times = sums.groupby("op_class").sum().to_dict() | {WITHOUT: without, BETWEEN: outside}
        times = {part: us for part, us in times.items() if us > 0}
        times[REST] = total - sum(times.values())
        rows += [
            {
                "workload": workload,
                "mode": mode,
                "part": part,
                "us": us,
                "pct_of_step": 100 * us / total,
                "step_us": total,
            }
            for part, us in times.items()
        ]
    return (pd.DataFrame(rows), words) if rows else (None, "")


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
