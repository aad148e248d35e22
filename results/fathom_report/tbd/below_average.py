"""TBD's Tables 5 and 6: long ops that reach a smaller share of the peak than their step."""

import pandas as pd

from fathom_page import marks, palette, style
from fathom_page.figure import Figure, Missing
from fathom_page.hints import OPS, TRAIN
from fathom_report.hints import command
from fathom_report.selection import (
    calls,
    of_setting,
    on_torch,
    one_setting,
    step_backend_rows,
    usual_batch,
    with_settings_of,
    without_variants,
)
from fathom_runs.words import of_peak, percent, plural, time_words

NAME = ("tbd-4", "The longest ops below the model's average efficiency", "TBD, Tables 5 and 6")
LONGEST = 4  # ops per workload
WIDTH = 2  # of the axis, in longest bars: the names of workloads are on the right


def figure(run):
    data, words = inefficient(run)
    if data is None:
        return Missing(
            *NAME,
            "training steps with flops_pct_peak, and their op rows with the same thread count: "
            + command(run, [TRAIN, OPS]),
        )
    if data.empty:
        return Missing(
            *NAME,
            "ops below their step's share of the peak: none of the ops with a known share is below it",
        )
    return Figure(*NAME, sentence(data, words), data, lambda figure: draw(figure, data))


def inefficient(run):
    """Ops with a share of the peak below their step's share of FLOP/s. The larger share of FLOP/s and bytes/s counts.

    Ops without a known share are left out.
    """
    steps = on_torch(run.steps[(run.steps["mode"] == "train") & (run.steps.us > 0)])
    steps = steps[steps.flops_pct_peak > 0]
    ops = step_backend_rows(run.ops)
    steps = with_settings_of(steps[steps.workload.isin(ops.workload)], ops)
    if steps.empty:
        return None, ""
    steps, words = one_setting(without_variants(steps, run.catalogue))
    steps = usual_batch(steps, run.catalogue)
    ops = of_setting(ops, steps.iloc[0])
    steps = steps.set_index("workload")
    ops = ops[ops.workload.isin(steps.index)]
    if ops.empty:
        return None, ""
    shares = ops[["flops_pct_peak", "bytes_pct_peak"]].apply(pd.to_numeric, errors="coerce")
    ops = ops.assign(
        pct_of_peak=shares.max(axis=1),
        peak=shares.fillna(-1).idxmax(axis=1).str.split("_").str[0],
        step_flops_pct_peak=ops.workload.map(steps.flops_pct_peak),
        calls_per_step=calls(ops, "train"),
    )
    ops = ops.assign(us_per_step=ops.us * ops.calls_per_step)
    ops = ops.assign(pct_of_step=100 * ops.us_per_step / ops.workload.map(steps.us))
    ops = ops[(ops.pct_of_peak < ops.step_flops_pct_peak) & (ops.us_per_step > 0)]
    names = ["workload", "type", "layer", "pass_", "calls_per_step", "us_per_step", "pct_of_step"]
    columns = [*names, "pct_of_peak", "peak", "step_flops_pct_peak"]
    position = ops.workload.map(list(steps.index).index)
    ops = ops.assign(position=position).sort_values(
        ["position", "us_per_step"], ascending=[True, False], kind="stable"
    )
    return ops[columns].rename(columns={"pass_": "pass"}).reset_index(drop=True), words


def longest(data):
    return data.groupby("workload", sort=False).head(LONGEST)


def name_of(row):
    return f"{row['type']} {row['layer']} {row['pass']}"


def sentence(data, words):
    top = data.loc[data.pct_of_step.idxmax()]
    sums = data.groupby("workload", sort=False).pct_of_step.sum()
    peak = "FLOP/s" if top.peak == "flops" else "bytes"
    text = (
        f"Of all ops below their step's share of the FLOP/s peak, {name_of(top)} in {top.workload} takes the largest "
        f"part of its step: {percent(top.pct_of_step)} ({time_words(top.us_per_step)}). It reaches "
        f"{of_peak(top.pct_of_peak)} of the peak of {peak}, the step {of_peak(top.step_flops_pct_peak)} of FLOP/s"
    )
    if len(sums) > 1:
        text += (
            f". All such ops take {percent(sums.min())} ({sums.idxmin()}) to {percent(sums.max())} "
            f"({sums.idxmax()}) of a step"
        )
    elif len(data) > 1:
        text += f". The {plural(len(data), 'such op')} take {percent(sums.iloc[0])} of the step"
    return f"{text}. Setting: {words}."


def draw(figure, data):
    shown = longest(data).reset_index(drop=True)
    (axis,) = style.axes(figure, 1.2 + 0.24 * len(shown))[0]
    most = shown.pct_of_step.max()
    for y, row in shown.iterrows():
        if y == 0 or row.workload != shown.workload[y - 1]:
            axis.axhline(y - 0.5, color=style.INK, alpha=0.25, linewidth=0.8)
            text = f"{row.workload}, step {of_peak(row.step_flops_pct_peak)}"
            axis.text(WIDTH * most, y, text, ha="right", va="center", weight="bold")
        colour = palette.FIRST if row.peak == "flops" else palette.SECOND
        axis.barh(y, row.pct_of_step, 0.62, color=style.faded(colour, 0.85))
        axis.text(row.pct_of_step, y, f" {of_peak(row.pct_of_peak)}", va="center")
    axis.set_ylim(len(shown) - 0.5, -0.5)
    axis.set_xlim(0, WIDTH * most)
    axis.set_yticks(range(len(shown)), [name_of(row) for _, row in shown.iterrows()])
    style.grid(axis, "x")
    axis.spines["left"].set_visible(False)
    axis.set_xlabel("% of the training step (op rows, times their calls)")
    kinds = [
        ("number: share of the FLOP/s peak", palette.FIRST),
        ("number: share of the bytes/s peak", palette.SECOND),
    ]
    marks.marker_key(figure, [(name, {"marker": "s", "color": colour}) for name, colour in kinds])
