"""Ops and training steps below the roof that was measured on this machine."""

import re

import numpy as np
import pandas as pd

from fathom_page import marks, palette, style
from fathom_report import laws
from fathom_report.figure import Figure, Missing
from fathom_report.selection import as_the_step_runs, calls, of_setting, one_setting, usual_batch
from fathom_runs.words import listed, percent, plural, ranged

NAME = ("ours-1", "Roofline of ops and steps", "Ours")
UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
COUNTED = 0.9  # share of a step's FLOPs that its op rows must account for, to know its bytes


def figure(run):
    ops = as_the_step_runs(run.ops)
    ops = ops[(ops.flops > 0) & (ops.bytes > 0)]
    if ops.empty:
        return Missing(
            *NAME, "op rows with flops and bytes: --benchmark_filter='^op/(matmul|conv2d)/'"
        )
    ops, words = one_setting(ops)
    roof = roof_of(run.context, ops.iloc[0])
    if roof is None:
        return Missing(*NAME, f"peak_flops_ and peak_bytes_ of {words} in the context")
    points = pd.concat([op_points(ops), step_points(run, ops)], ignore_index=True)
    points = points.assign(attainable_flops=laws.attainable(points.flops_per_byte, *roof))
    data = points.assign(pct_of_roof=100 * points.flops / points.attainable_flops)
    return Figure(
        *NAME, sentence(data, roof, words), data, lambda figure: draw(figure, data, roof, words)
    )


def roof_of(context, row):
    """Measured peaks in FLOP/s and byte/s; None where one is not known."""
    machine = f"{row.device}_threads{row.threads}"
    peaks = [
        rate(context.get(key))
        for key in (f"peak_flops_{machine}_{row.precision}", f"peak_bytes_{machine}")
    ]
    return None if None in peaks else peaks


def rate(text):
    """`118.2 GFLOP/s, what reached it` as a number."""
    found = re.match(r"([\d.e+]+) ([kMGT]?)(?:FLOP|B)/s", str(text))
    return float(found[1]) * UNITS[found[2]] if found else None


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
    """Training steps whose op rows account for their FLOPs: their bytes are those of the ops, one after the other."""
    every = of_setting(as_the_step_runs(run.ops), ops.iloc[0])
    count = calls(every, "train") * every.us / 1e6
    moved = (every.bytes * count).groupby(every.workload).sum()
    counted = (every.flops * count).groupby(every.workload).sum()
    steps = run.steps[(run.steps["mode"] == "train") & (run.steps.flops > 0)]
    steps = usual_batch(steps, run.catalogue)
    steps = of_setting(steps, ops.iloc[0])
    steps = steps[steps.workload.map(moved) > 0]
    steps = steps[steps.workload.map(counted) >= COUNTED * steps.flops_per_step]
    return pd.DataFrame(
        {
            "kind": "step",
            "workload": steps.workload,
            "us_per_step": steps.us,
            "flops_per_byte": steps.flops_per_step / steps.workload.map(moved),
            "flops": steps.flops,
        }
    )


def sentence(data, roof, words):
    ops, steps = data[data.kind == "op"], data[data.kind == "step"]
    ridge = roof[0] / roof[1]
    bound = (ops.flops_per_byte < ridge).sum()
    weighted = 100 * (ops.us_per_step * ops.pct_of_roof / 100).sum() / ops.us_per_step.sum()
    text = (
        f"The roof bends at {ridge:.3g} FLOPs a byte: {bound} of {plural(len(ops), 'op shape')} lie"
        f"{'s' if bound == 1 else ''} left of it, where memory limits. "
    )
    if not steps.empty:
        pct = steps.set_index("workload").pct_of_roof.sort_values()
        text += f"Of what the roof allows, training steps reach {ranged(pct)}. "
    elif weighted == weighted:
        text += f"Weighted by their time, ops reach {percent(weighted)} of what the roof allows. "
    above = ops[ops.pct_of_roof > 100]
    if not above.empty:
        types = listed(above.type.value_counts().index, most=4)
        text += (
            f"{plural(len(above), 'shape')} ({types}) lie{'s' if len(above) == 1 else ''} above the roof: their data "
            "stays in the caches. "
        )
    lost = ops.us_per_step * (1 - ops.pct_of_roof.clip(upper=100) / 100)
    lost = (lost / ops.groupby("workload").us_per_step.transform("sum")).dropna()
    if not lost.empty and lost.max() > 0:
        row = ops.loc[lost.idxmax()]
        text += (
            f"Relative to its workload, most time is lost in {row.type} {row.layer} {row['pass']} of {row.workload}, "
            f"at {percent(row.pct_of_roof)} of the roof"
        )
    return f"{text.strip()} ({words})."


def draw(figure, data, roof, words):
    (axis,) = style.axes(figure, 4.6)[0]
    ops, steps = data[data.kind == "op"], data[data.kind == "step"]
    low, high = data.flops_per_byte.min() / 1.5, data.flops_per_byte.max() * 1.5
    line = np.geomspace(min(low, roof[0] / roof[1] / 2), max(high, 2 * roof[0] / roof[1]), 60)
    axis.plot(line, laws.attainable(line, *roof) / 1e9, color=style.INK, linewidth=1.4)
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
    axis.set_ylim(low, high * (high / low) ** (0.25 if len(steps) else 0.02))  # room for names
    style.plain_log(axis)
    style.grid(axis)
    axis.plot(steps.flops_per_byte, steps.flops / 1e9, "*", color=style.INK, markersize=11)
    names = zip(steps.flops_per_byte, steps.flops / 1e9, steps.workload)
    marks.names_above(axis, list(names), 0.84)
    axis.set_xlabel("FLOPs a byte of inputs and outputs")
    axis.set_ylabel("GFLOP/s")
    axis.set_title(f"Roof: {roof[0] / 1e9:.3g} GFLOP/s, {roof[1] / 1e9:.3g} GB/s ({words})")
    marks.class_key(axis, ops.op_class, "circle: op shape, by share of time\nstar: training step")
