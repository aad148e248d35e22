"""Selects training steps with several batch sizes, and draws lines over them."""

from fathom_page import marks, palette, style
from fathom_page.hints import TRAIN
from fathom_report.hints import command
from fathom_report.selection import one_setting


def needs(run):
    wanted = command(run, [TRAIN], "--fathom_batch=8,16,32")
    return f"training steps with at least two batch sizes: {wanted}"


def training_sweeps(steps):
    """Pairs (table, setting in words) of training steps with several batch sizes, one per device.

    Uses the largest thread count, because one thread is always fully utilised. TBD also shows the whole machine.
    """
    sweeps = []
    steps = steps[(steps["mode"] == "train") & (steps.us > 0)]
    for _, table in steps.groupby("device"):
        swept = ["workload", "threads", "precision", "backend"]
        table = table[table.groupby(swept).batch.transform("nunique") > 1]
        if not table.empty:
            table, words = one_setting(table, threads=max)
            sweeps.append((table.sort_values("batch", kind="stable"), words))
    return sweeps


def draw_lines(axis, table, column, log=True):
    """Draws one line per workload, with its name at the end."""
    labels = []
    for number, (workload, one) in enumerate(table.groupby("workload", sort=False)):
        colour = palette.LINE_COLOURS[number % len(palette.LINE_COLOURS)]
        one = one[one[column].notna()]
        if one.empty:
            continue
        axis.plot(one.batch, one[column], "-o", color=colour, markersize=4)
        labels.append((one.batch.iloc[-1], one[column].iloc[-1], workload, colour))
    style.count_axis(axis, table.batch)
    if log:
        style.plain_log(axis, "y")
    else:
        axis.set_ylim(0, max(105, 1.05 * table[column].max()))
    style.grid(axis)
    marks.end_labels(axis, labels, 0.07)
