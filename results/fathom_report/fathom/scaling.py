"""Fathom's Fig. 6: op times against threads, with fits of Amdahl's law and the USL."""

import numpy as np
import pandas as pd

from fathom_page import marks, palette, style
from fathom_page.figure import Figure, Missing
from fathom_page.hints import TRAIN
from fathom_report import laws
from fathom_report.hints import command
from fathom_report.selection import framework_as_one, one_backend, usual_batch, without_variants
from fathom_runs.words import listed, percent, plural

NAME = ("fathom-6", "Op times against threads", "Fathom, Fig. 6")
SUPERLINEAR = 1.05  # multiple of the threads; the caption mentions speedups above it
HEAVIEST = 4  # op types per workload: largest at the fewest and at twice the most threads


def figure(run):
    table = training_types_of_all_counts(run.op_types, run.catalogue)
    if table.empty or table.threads.nunique() < 2:
        return Missing(
            *NAME,
            "op types of training steps at two or more thread counts: "
            + command(run, [TRAIN], "--fathom_profile", of_counts=False),
        )
    fits = fitted(table)
    data = tidy(table, fits)
    return Figure(*NAME, sentence(table, fits), data, lambda figure: draw(figure, table, fits))


def training_types_of_all_counts(op_types, catalogue):
    """Op types of training steps on the CPU and one backend, for every thread count."""
    table = op_types[(op_types["mode"] == "train") & (op_types.device == "cpu") & (op_types.us > 0)]
    if table.empty:
        return table
    table = one_backend(table).sort_values("threads", kind="stable")
    table = usual_batch(without_variants(table, catalogue), catalogue)
    return framework_as_one(table, ["workload", "threads"])


def fitted(table):
    """Fits each workload and op type. `next_us`: time at twice the most threads, by the USL or else by Amdahl's law."""
    twice = 2 * int(table.threads.max())
    rows = []
    for (workload, op_type), one in table.groupby(["workload", "type"], sort=False):
        counts, us = one.threads.to_numpy(), one.us.to_numpy()
        amdahl, usl = laws.fit_amdahl(counts, us), laws.fit_usl(counts, us)
        law = usl or amdahl
        rows.append(
            {
                "workload": workload,
                "type": op_type,
                "op_class": one.op_class.iloc[0],
                "amdahl": amdahl,
                "usl": usl,
                "next_us": float(law.time(twice)) if law else float("nan"),
            }
        )
    return pd.DataFrame(rows)


def tidy(table, fits):
    twice = 2 * int(table.threads.max())
    laws_of = pd.DataFrame(
        {
            "workload": fits.workload,
            "type": fits.type,
            "amdahl_serial_pct": [100 * fit.serial if fit else np.nan for fit in fits.amdahl],
            "amdahl_low_pct": [100 * fit.low if fit else np.nan for fit in fits.amdahl],
            "amdahl_high_pct": [100 * fit.high if fit else np.nan for fit in fits.amdahl],
            "usl_sigma": [fit.sigma if fit else np.nan for fit in fits.usl],
            "usl_kappa": [fit.kappa if fit else np.nan for fit in fits.usl],
            "usl_best_threads": [fit.best_threads if fit else np.nan for fit in fits.usl],
            f"expected_us_at_{twice}_threads": fits.next_us,
        }
    )
    columns = ["workload", "type", "op_class", "threads", "us"]
    return table[columns].merge(laws_of, on=["workload", "type"])


def sentence(table, fits):
    counts = sorted(table.threads.unique())
    steps = table.groupby(["workload", "threads"]).us.sum().unstack()
    gain = (steps[counts[0]] / steps[counts[-1]]).dropna().sort_values()
    if gain.empty:
        speed = "no training step was profiled with both thread counts"
    elif len(gain) == 1:
        speed = f"the speedup of {gain.index[0]}'s profiled training step is {gain.iloc[0]:.3g}"
    else:
        speed = (
            f"the speedup of profiled training steps is {gain.iloc[0]:.3g} ({gain.index[0]}) to "
            f"{gain.iloc[-1]:.3g} ({gain.index[-1]})"
        )
    sentence = f"From {plural(counts[0], 'thread')} to {counts[-1]}, {speed}"
    if not gain.empty:
        sentence += ", by the sum of their op types (Fig. 5 shows timed steps)"
    linear = counts[-1] / counts[0]
    above = gain[gain > SUPERLINEAR * linear]
    if not above.empty:
        sentence += (
            f" (more than {linear:g} in {listed(above.index)}: one of the times may be disturbed)"
        )
    known = fits[fits.next_us.notna()]
    if known.empty:
        return (
            f"{sentence}{least_gain(table, counts)}. {len(counts)} thread counts are too few for a fit: "
            f"Amdahl's law needs {laws.AMDAHL_POINTS}, the USL {laws.USL_POINTS}."
        )
    return f"{sentence}. {largest_next(known, 2 * counts[-1])}{most_serial(known)}."


def least_gain(table, counts):
    """A sentence about the large op type with the smallest gain from more threads."""
    us = table.pivot_table(index=["workload", "type"], columns="threads", values="us", sort=False)
    us = (
        us.sort_values(counts[0], ascending=False, kind="stable").groupby("workload").head(HEAVIEST)
    )
    gain = (us[counts[0]] / us[counts[-1]]).dropna()
    if gain.empty:
        return ""
    workload, op_type = gain.idxmin()
    return f"; of the largest op types, {op_type} in {workload} has the smallest speedup, {gain.min():.3g}"


def largest_next(known, twice):
    """A sentence about the largest op type of each step at twice the threads, by the fits."""
    next_ones = known.loc[known.groupby("workload", sort=False).next_us.idxmax()]
    named = [
        f"{op_type} in {listed(ones.workload)}"
        for op_type, ones in next_ones.groupby("type", sort=False)
    ]
    return f"Extrapolated to {twice} threads, the largest op type is {'; '.join(named)}"


def most_serial(known):
    """A sentence about the largest serial share among these op types."""
    next_ones = known.loc[known.groupby("workload", sort=False).next_us.idxmax()]
    top = max(next_ones.itertuples(), key=lambda row: row.amdahl.serial)
    fit = top.amdahl
    return (
        f". Of these, {top.type} in {top.workload} has the largest serial share: "
        f"{percent(100 * fit.serial)} by Amdahl's law "
        f"({percent(100 * fit.low)} to {percent(100 * fit.high)} at {100 * laws.CONFIDENCE:.0f} % confidence)"
    )


def chosen_types(table, fits, workload):
    """The largest op types at the fewest threads, and the largest one at twice the most threads by the fits."""
    one = table[table.workload == workload]
    first = one[one.threads == one.threads.min()].sort_values("us", ascending=False, kind="stable")
    mine = fits[fits.workload == workload]
    chosen = list(first.type[:HEAVIEST])
    if mine.next_us.notna().any():
        limiting = mine.type[mine.next_us.idxmax()]
        chosen = chosen if limiting in chosen else [*chosen[: HEAVIEST - 1], limiting]
    return chosen


def draw(figure, table, fits):
    workloads = list(dict.fromkeys(table.workload))
    counts = sorted(table.threads.unique())
    curve = np.geomspace(counts[0], 2 * counts[-1], 40)
    axes = style.panels(figure, len(workloads), height=2.0)
    for axis, workload in zip(axes, workloads):
        labels = []
        mine = fits[fits.workload == workload].set_index("type")
        limiting = mine.next_us.idxmax() if mine.next_us.notna().any() else None
        for op_type in chosen_types(table, fits, workload):
            one = table[(table.workload == workload) & (table.type == op_type)]
            fit, colour = mine.loc[op_type], palette.class_colour(one.op_class.iloc[0])
            is_unfitted = fit.amdahl is None
            axis.plot(
                one.threads, one.us / 1e3, "-o" if is_unfitted else "o", color=colour, markersize=4
            )
            end = (one.threads.iloc[-1], one.us.iloc[-1] / 1e3)
            for law, line in ((fit.amdahl, "--"), (fit.usl, "-")):
                if law:
                    us = law.time(curve) / 1e3
                    axis.plot(curve, us, line, color=colour, linewidth=1.1, alpha=0.9)
                    end = (curve[-1], us[-1])
            text = f"{op_type} ◂ largest next" if op_type == limiting else op_type
            labels.append((*end, text, colour))
        style.count_axis(axis, counts if fits.amdahl.isna().all() else [*counts, 2 * counts[-1]])
        style.plain_log(axis, "y")
        style.grid(axis)
        marks.end_labels(axis, labels, 0.13)
        axis.set_title(workload)
        axis.set_ylabel("ms")
    below = axes[-1]
    below.set_xlabel(
        "threads" if fits.amdahl.isna().all() else "threads; dashed: Amdahl, solid: USL"
    )
