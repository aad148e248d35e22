"""Each step on LibTorch beside the same step on other backends, its fastest ops, and the time of its FLOPs alone."""

import pandas as pd

from fathom_page import marks, palette, style
from fathom_page.figure import Figure, Missing
from fathom_page.hints import STEPS
from fathom_report import laws
from fathom_report.hints import command
from fathom_report.selection import (
    by_workload,
    fastest_rows,
    of_setting,
    of_step,
    on_torch,
    one_setting,
    step_names,
    sums,
    usual_batch,
    with_amounts,
    with_settings_of,
    without_rows,
)
from fathom_runs.catalogue import FRAMEWORK
from fathom_runs.names import TORCH
from fathom_runs.words import listed, of_peak, percent, plural, ranged, time_words

NAME = ("ours-5", "From the framework's step to the machine's", "fathom_bench")
STEP = ["workload", "mode", "device", "threads", "batch", "precision"]
KNOWN = ("onednn", "tuned")  # in the order of the figure; backends of users follow
OPS, LIMIT = "fastest ops", "FMA limit"
COVERED = 0.9  # share of a step in op rows; below it, their sum says nothing about the step


def figure(run):
    data, words = times(run)
    if data is None:
        return Missing(
            *NAME,
            "steps on torch and on another backend, at one setting and batch size: "
            + command(run, [STEPS], "--fathom_backend=torch,onednn,tuned", "--fathom_profile"),
        )
    return Figure(*NAME, sentence(data, words), data, lambda figure: draw(figure, data))


def times(run):
    """The times of each step that has a row on torch and on another backend, and their shares of the time on torch."""
    steps = run.steps[run.steps.us > 0]
    others = steps[steps.backend != TORCH]
    torch = with_settings_of(on_torch(steps), others, STEP)
    if torch.empty:
        return None, ""
    torch, words = one_setting(torch, threads=max)
    ops, types = fastest_rows(run.ops), run.op_types.assign(step=step_names(run.op_types))
    rows = []
    for _, step in by_workload(usual_batch(torch, run.catalogue)).iterrows():
        mine = others[(others[STEP] == step[STEP]).all(axis=1)].set_index("backend").us
        found = {TORCH: step.us} | {backend: mine[backend] for backend in in_order(mine.index)}
        found[OPS] = fastest_ops_us(step, ops, types[types.step == step["name"]])
        found[LIMIT] = limit_us(step)
        rows += [
            {
                **step[["workload", "mode", "batch"]],
                "kernels": kernels,
                "us": us,
                "pct_of_torch": 100 * us / step.us,
            }
            for kernels, us in found.items()
            if us > 0
        ]
    return pd.DataFrame(rows), words


def in_order(names):
    """Backends in the order of the figure: the known ones, then those of users."""
    return [*(one for one in KNOWN if one in set(names)), *sorted(set(names) - set(KNOWN))]


def limit_us(step):
    """Time of the step's FLOPs at the measured peak, flops_per_step / peak. NaN if the peak is unknown."""
    return step.us * step.flops_pct_peak / 100


def fastest_ops_us(step, ops, types):
    """Sum over the op rows of a step, each shape on its fastest backend. 0 if they don't cover the step.

    `ops` are rows of all settings, `types` the profile of the step.
    """
    ops = of_step(sums(with_amounts(of_setting(ops, step)), values=("us", "flop")), step)
    return ops.us.sum() if cover(step, types, ops) else 0


def cover(step, types, ops):
    """Whether the sums of ops cover a step: its FLOPs, and the time of its op types in the profile."""
    types = types[types.op_class != FRAMEWORK]
    missing = without_rows(types, ops).pct_of_step.sum()
    return (
        not types.empty
        and missing <= (1 - COVERED) * types.pct_of_step.sum()
        and not ops.flop.sum() < COVERED * step.flops_per_step
    )


def shares(data, kernels):
    """Percent of the time on torch, by step."""
    mine = data[data.kernels == kernels]
    return mine.set_index(mine.workload + "/" + mine["mode"]).pct_of_torch


def backends(data):
    """The backends beside torch."""
    return in_order(set(data.kernels) - {TORCH, OPS, LIMIT})


def sentence(data, words):
    parts = [share_words(f"On {one}", shares(data, one), "on torch") for one in backends(data)]
    ops, limits = shares(data, OPS), shares(data, LIMIT)
    if not ops.empty:
        parts.append(
            f"The fastest ops, timed separately, add up to {ranged(ops)} of the time on torch"
        )
    without = shares(data, TORCH).index.difference(ops.index, sort=False)
    if len(without):
        which = f" of {listed(without, most=4)}" if len(ops) else ""
        parts.append(
            f"The sum of the fastest ops{which} is left out: it needs op rows of this setting for "
            f"{100 * COVERED:.0f} % of the step, and its profile (--fathom_profile)"
        )
    if not limits.empty:
        parts.append(
            f"The FMA limit, the step's FLOPs at the measured peak, is {ranged(limits, of_peak)}"
        )
    return f"{'. '.join(parts)}. Setting: {words}."


def share_words(place, found, base):
    """A sentence about the times of steps at one place, in percent of those at the base."""
    if len(found) == 1:
        return f"{place}, {found.index[0]} takes {percent(found.iloc[0])} of its time {base}"
    mean = percent(laws.geometric_mean(found))
    return (
        f"{place}, {plural(len(found), 'step')} take {mean} of their time {base} (geometric mean): "
        f"{ranged(found)}"
    )


def draw(figure, data):
    torch = data[data.kernels == TORCH].reset_index(drop=True)
    (axis,) = style.axes(figure, 1.5 + 0.27 * len(torch))[0]
    kinds = markers(backends(data), set(data.kernels))
    for y, step in torch.iterrows():
        mine = data[(data.workload == step.workload) & (data["mode"] == step["mode"])]
        mine = mine.set_index("kernels").pct_of_torch
        axis.plot([mine.min(), mine.max()], [y, y], color=style.INK, alpha=0.25, linewidth=1)
        for kernels, how in kinds.items():
            if kernels in mine:
                axis.plot(mine[kernels], y, linestyle="none", **{"markersize": 7, **how})
        axis.text(
            *(1.01, y, time_words(step.us)), transform=axis.get_yaxis_transform(), va="center"
        )
    axis.axvline(100, color=style.INK, linewidth=1)
    axis.set_yticks(range(len(torch)), torch.workload + "/" + torch["mode"])
    axis.set_ylim(len(torch) - 0.5, -0.5)
    axis.set_xlim(0, 1.05 * max(data.pct_of_torch.max(), 100))
    style.grid(axis, "x")
    axis.spines["left"].set_visible(False)
    axis.set_xlabel("% of the step's time on torch, which is at the right")
    marks.marker_key(figure, list(kinds.items()), columns=4)


def markers(names, shown):
    """Marker properties by kernels."""
    grey = palette.class_colour(FRAMEWORK)
    colours = [one for one in palette.LINE_COLOURS if one != grey]
    # A known backend keeps its colour if the other one is missing.
    order = [*KNOWN, *(one for one in names if one not in KNOWN)]
    made = {
        one: {"marker": "o", "color": colours[order.index(one) % len(colours)]} for one in names
    }
    made[OPS] = {"marker": "D", "color": grey, "markerfacecolor": "none", "markeredgewidth": 1.5}
    made[LIMIT] = {"marker": "|", "color": grey, "markersize": 11, "markeredgewidth": 2.5}
    return {kernels: how for kernels, how in made.items() if kernels in shown}
