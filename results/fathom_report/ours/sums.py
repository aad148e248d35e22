"""A step is its ops, what passes between them, and a remainder."""

import pandas as pd

from fathom_page import marks, palette, style
from fathom_report.figure import Figure, Missing
from fathom_report.selection import (
    as_the_step_runs,
    calls,
    of_setting,
    one_setting,
    that_have,
    usual_batch,
)
from fathom_runs.words import percent, ranged

NAME = ("ours-4", "A step is its ops and a remainder", "Ours")
BETWEEN, WITHOUT, REST = "between ops", "ops without rows", "remainder"


def figure(run):
    data, words = parts(run)
    if data is None:
        return Missing(
            *NAME,
            "steps with op types and their ops alone, of the same threads: "
            "./fathom_bench --fathom_profile --benchmark_out=run.json",
        )
    return Figure(*NAME, sentence(data, words), data, lambda figure: draw(figure, data))


def parts(run):
    """Ops alone by class, hot, times their calls; between ops and ops without rows as watched; what is left."""
    ops = as_the_step_runs(run.ops)
    watched = that_have(run.op_types[run.op_types.pct_of_step >= 0], ops)
    watched = watched[watched.workload.isin(ops.workload)]
    if watched.empty:
        return None, ""
    watched, words = one_setting(watched)
    watched = usual_batch(watched, run.catalogue)
    ops = of_setting(ops, watched.iloc[0])
    names = watched["name"].str.replace(r"/op:[^/]*", "", regex=True)
    step_us = run.steps[run.steps.us > 0].set_index("name").us
    rows = []
    for name, types in watched.groupby(names, sort=False):
        workload, mode = types.iloc[0][["workload", "mode"]]
        mine = ops[ops.workload == workload]
        alone = (mine.us * calls(mine, mode)).groupby([mine.type, mine.op_class]).sum()
        if name not in step_us.index or not alone.sum() > 0:
            continue
        whole = step_us[name]
        # A watched step is a little longer than a timed one: its shares are laid on the timed one.
        types = types.assign(us=types.pct_of_step / 100 * whole)
        outside = types[types.op_class == palette.FRAMEWORK].us.sum()
        op_types = types[types.op_class != palette.FRAMEWORK]
        without = op_types[~op_types.type.isin(alone.index.get_level_values("type"))].us.sum()
        times = alone.groupby("op_class").sum().to_dict() | {WITHOUT: without, BETWEEN: outside}
        times = {part: us for part, us in times.items() if us > 0}
        times[REST] = whole - sum(times.values())
        rows += [
            {
                "workload": workload,
                "mode": mode,
                "part": part,
                "us": us,
                "pct_of_step": 100 * us / whole,
                "step_us": whole,
            }
            for part, us in times.items()
        ]
    return (pd.DataFrame(rows), words) if rows else (None, "")


def sentence(data, words):
    steps = data.assign(step=data.workload + "/" + data["mode"])
    apart = [BETWEEN, WITHOUT, REST]
    alone = steps[~steps.part.isin(apart)].groupby("step", sort=False).pct_of_step.sum()
    between = steps[steps.part == BETWEEN].set_index("step").pct_of_step
    rest = steps[steps.part == REST].set_index("step").pct_of_step
    text = f"Ops alone, times their calls, make up {ranged(alone)} of the step"
    if not between.empty:
        text += f"; between ops pass at most {percent(between.max())} ({between.idxmax()})"
    far = rest.abs().idxmax()
    if rest[far] >= 0:
        text += (
            f"; the largest remainder, {percent(rest[far])} of {far}, is what ops take longer inside "
            "the step than alone"
        )
    else:
        text += f"; in {far} the parts are {percent(-rest[far])} more than the step: ops take less inside it than alone"
    return f"{text} ({words})."


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
    axis.set_xlabel("% of the timed step; beside: the remainder")
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
