"""Which ops the memory limits on each side: the two rooflines, and the ops between their ridges."""

import numpy as np
import pandas as pd

from fathom_compare.shares import SIDES, side_key
from fathom_page import style
from fathom_page.figure import Figure, Missing
from fathom_runs.words import listed, plural

NAME = ("Ops between the rooflines", "fathom_bench")
MACHINE = ["device", "threads", "precision"]
SHAPE = ["type", "workload", "layer", "pass_", *MACHINE]
COMPUTE, MEMORY = "compute", "memory"
NEEDS = (
    "op rows with flops and bytes on both sides, and peak_flops_ and peak_bytes_ of their threads"
)


def figure(comparison):
    name = (f"roofs{comparison.key}", *NAME)
    ops = bounds(comparison)
    ops = ops[(ops.cache == "hot") & (ops.base_bound != "") & (ops.other_bound != "")]
    if ops.empty:
        return Missing(*name, f"{NEEDS}: {comparison.command(['^op/(matmul|conv2d)/({})/'])}")
    machines = ops[MACHINE].apply(tuple, axis=1)
    setting = machines.mode().iloc[0]
    ops = ops[machines == setting].drop_duplicates(SHAPE)
    roofs = [side.roof(*setting) for side in (comparison.base, comparison.other)]
    ops = ops.assign(**{f"{side}_gflops": ops[f"{side}_flops"] / 1e9 for side in SIDES})
    sides = [f"{side}_{rest}" for rest in ("gflops", "bound") for side in SIDES]
    data = ops[[*SHAPE, "op_class", "flops_per_byte", *sides]].rename(columns={"pass_": "pass"})
    return Figure(
        *name,
        sentence(ops, roofs, setting, comparison),
        comparison.lettered(data.reset_index(drop=True)),
        lambda figure: draw(figure, ops, roofs, comparison),
    )


def bounds(comparison):
    """The op rows, with `flops_per_byte` and what limits them by the roofline of each side; empty if unknown."""
    ops = comparison.ops
    intensity = (ops.base_flops / ops.base_bytes).where(ops.base_flops > 0)
    made = {"flops_per_byte": intensity}
    for side in SIDES:
        ridges = {
            setting: roof.ridge if (roof := getattr(comparison, side).roof(*setting)) else np.nan
            for setting in set(ops[MACHINE].itertuples(index=False, name=None))
        }
        ridge = pd.Series(
            [ridges[one] for one in ops[MACHINE].itertuples(index=False, name=None)],
            ops.index,
            dtype=float,
        )
        bound = np.where(intensity >= ridge, COMPUTE, MEMORY)
        made[f"{side}_bound"] = np.where((intensity / ridge).isna(), "", bound)
    return ops.assign(**made)


def sentence(ops, roofs, setting, comparison):
    base, other = comparison.base.letter, comparison.other.letter
    device, threads, precision = setting
    words = f"CPU, {plural(threads, 'thread')}" if device == "cpu" else "GPU"
    same = [
        int(((ops.base_bound == bound) & (ops.other_bound == bound)).sum())
        for bound in (COMPUTE, MEMORY)
    ]
    text = (
        f"The ridge is at {roofs[0].ridge:.3g} FLOPs per byte on {base} and at {roofs[1].ridge:.3g} on {other}. "
        f"Of {plural(len(ops), 'op shape')}, {same[0]} {'is' if same[0] == 1 else 'are'} compute-bound and "
        f"{same[1]} memory-bound on both"
    )
    for old, new in ((COMPUTE, MEMORY), (MEMORY, COMPUTE)):
        moved = ops[(ops.base_bound == old) & (ops.other_bound == new)]
        if len(moved):
            types = listed(moved.type.value_counts().index, most=4)
            verb = "is" if len(moved) == 1 else "are"
            text += (
                f"; {len(moved)} ({types}) {verb} {old}-bound on {base} and {new}-bound on {other}"
            )
    if sum(same) == len(ops):
        text += "; none is compute-bound on one side only"
    return f"{text}. Setting: {words}, {precision}."


def draw(figure, ops, roofs, comparison):
    (axis,) = style.axes(figure, 4.4)[0]
    ridges = sorted(roof.ridge for roof in roofs)
    ends = [ops.flops_per_byte.min(), *ridges, ops.flops_per_byte.max()]
    line = np.geomspace(min(ends) / 2, 2 * max(ends), 200)
    axis.axvspan(*ridges, color=style.INK, alpha=0.06, linewidth=0)
    for side, roof, colour in zip(SIDES, roofs, SIDES.values()):
        axis.plot(line, [roof.attainable(one) / 1e9 for one in line], color=colour)
        axis.scatter(
            ops.flops_per_byte,
            ops[f"{side}_gflops"],
            s=16,
            color=style.faded(colour, 0.3),
            linewidths=0,
        )
    axis.set_yscale("log")
    style.plain_log(axis)
    style.grid(axis)
    axis.set_xlabel("FLOPs per byte of inputs and outputs (grey: between the ridges)")
    axis.set_ylabel("GFLOP/s")
    side_key(figure, comparison)
