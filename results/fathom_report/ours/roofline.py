"""Roofline of ops and training steps, with the measured peaks of the machine."""

import numpy as np
import pandas as pd

from fathom_page import marks, palette, style
from fathom_page.figure import Figure, Missing
from fathom_report.hints import command
from fathom_report.selection import (
    SETTING,
    calls,
    of_setting,
    on_torch,
    one_setting_of_steps,
    step_backend_rows,
    sums,
    usual_batch,
    with_amounts,
)
from fathom_runs.peaks import roof as roof_of
from fathom_runs.words import listed, of_peak, plural, ranged

NAME = ("ours-1", "Roofline of ops and steps", "fathom_bench")
COUNTED = 0.9  # share of a step's FLOPs in its op rows; below it, the bytes of the step are unknown


def figure(run):
    ops = step_backend_rows(run.ops)
    ops = ops[(ops.flops > 0) & (ops.bytes > 0)]
    if ops.empty:
        return Missing(
            *NAME, f"op rows with flops and bytes: {command(run, ['^op/(matmul|conv2d)/({})/'])}"
        )
    ops, words = one_setting_of_steps(ops)
    roof = roof_of(run.context, *ops.iloc[0][SETTING])
    if roof is None:
        return Missing(*NAME, f"peak_flops_ and peak_bytes_ of {words} in the context of the file")
    points = pd.concat([op_points(ops), step_points(run, ops)], ignore_index=True)
    points = points.assign(attainable_flops=points.flops_per_byte.map(roof.attainable))
    data = points.assign(pct_of_roof=100 * points.flops / points.attainable_flops)
    return Figure(
        *NAME, sentence(data, roof, words), data, lambda figure: draw(figure, data, roof, words)
    )


def op_points(ops):
    return pd.DataFrame(
        {
            "kind": "op",
            "workload": ops.workload,
            "type": ops.type,
            "layer": ops.layer,
            "pass": ops.pass_,
            "op_class": ops.op_class,
            "us_per_step": ops.us * np.maximum(calls(ops, "train"), calls(ops, "infer")),
            "flops_per_byte": ops.flops / ops.bytes,
            "flops": ops.flops,
        }
    )


def step_points(run, ops):
    """Training steps with op rows for at least COUNTED of their FLOPs. Their bytes are the sum over the ops."""
    every = with_amounts(of_setting(step_backend_rows(run.ops), ops.iloc[0]))
    found = sums(every, ["workload"], ("flop", "byte"))
    found = found[found["mode"] == "train"].set_index("workload")
    steps = on_torch(run.steps[(run.steps["mode"] == "train") & (run.steps.flops > 0)])
    steps = usual_batch(steps, run.catalogue)
    steps = of_setting(steps, ops.iloc[0])
    steps = steps[steps.workload.map(found.byte) > 0]
    steps = steps[steps.workload.map(found.flop) >= COUNTED * steps.flops_per_step]
    return pd.DataFrame(
        {
            "kind": "step",
            "workload": steps.workload,
            "us_per_step": steps.us,
            "flops_per_byte": steps.flops_per_step / steps.workload.map(found.byte),
            "flops": steps.flops,
        }
    )


def sentence(data, roof, words):
    ops, steps = data[data.kind == "op"], data[data.kind == "step"]
    ridge = roof.ridge
    bound = (ops.flops_per_byte < ridge).sum()
    weighted = 100 * (ops.us_per_step * ops.pct_of_roof / 100).sum() / ops.us_per_step.sum()
    text = (
        f"The ridge point is {ridge:.3g} FLOPs per byte: {bound} of {plural(len(ops), 'op shape')} "
        f"{'is' if bound == 1 else 'are'} left of it, where the memory roof applies. "
    )
    if not steps.empty:
        pct = steps.set_index("workload").pct_of_roof.sort_values()
        text += f"Training steps reach {ranged(pct, of_peak)} of the roof. "
    elif weighted == weighted:
        text += f"Ops reach {of_peak(weighted)} of the roof, weighted by time. "
    above = ops[ops.pct_of_roof > 100]
    for part, roof_words in (
        (above[above.flops_per_byte < ridge], "the memory roof: data partly comes from caches"),
        (above[above.flops_per_byte >= ridge], "the measured FLOP/s peak"),
    ):
        if not part.empty:
            types = listed(part.type.value_counts().index, most=4)
            verb = "is" if len(part) == 1 else "are"
            text += f"{plural(len(part), 'shape')} ({types}) {verb} above {roof_words}. "
    lost = ops.us_per_step * (1 - ops.pct_of_roof.clip(upper=100) / 100)
    lost = (lost / ops.groupby("workload").us_per_step.transform("sum")).dropna()
    if not lost.empty and lost.max() > 0:
        row = ops.loc[lost.idxmax()]
        text += (
            f"The largest gap to the roof, as a share of the workload's time, is {row.type} {row.layer} "
            f"{row['pass']} of {row.workload}, at {of_peak(row.pct_of_roof)} of the roof"
        )
    return f"{text.strip().removesuffix('.')}. Setting: {words}."


def draw(figure, data, roof, words):
    (axis,) = style.axes(figure, 4.6)[0]
    ops, steps = data[data.kind == "op"], data[data.kind == "step"]
    low, high = data.flops_per_byte.min() / 1.5, data.flops_per_byte.max() * 1.5
    line = np.geomspace(min(low, roof.ridge / 2), max(high, 2 * roof.ridge), 60)
    roof_line = [roof.attainable(intensity) / 1e9 for intensity in line]
    axis.plot(line, roof_line, color=style.INK, linewidth=1.4)
    shares = ops.us_per_step / ops.groupby("workload").us_per_step.transform("max")
    sizes = 14 + 90 * shares.fillna(0)
    for op_class, one in ops.groupby("op_class"):
        colour = palette.class_colour(op_class)
        axis.scatter(
            one.flops_per_byte,
            one.flops / 1e9,
            s=sizes[one.index],
            color=style.faded(colour, 0.45),
            edgecolors=colour,
            linewidths=0.6,
        )
    axis.set_yscale("log")
    low, high = axis.get_ylim()
    axis.set_ylim(low, high * (high / low) ** (0.25 if len(steps) else 0.02))  # room for labels
    style.plain_log(axis)
    style.grid(axis)
    axis.plot(steps.flops_per_byte, steps.flops / 1e9, "*", color=style.INK, markersize=11)
    names = zip(steps.flops_per_byte, steps.flops / 1e9, steps.workload)
    marks.names_above(axis, list(names), 0.84)
    axis.set_xlabel("FLOPs per byte of inputs and outputs")
    axis.set_ylabel("GFLOP/s")
    axis.set_title(f"Roof: {roof.flops / 1e9:.3g} GFLOP/s, {roof.bytes / 1e9:.3g} GB/s ({words})")
    marks.class_key(
        axis, ops.op_class, "circle: op shape (area: share of time)\nstar: training step"
    )
