"""Fathom's Fig. 1: times of op types over the steps of a run."""

import matplotlib.ticker
import pandas as pd

from fathom_page import marks, palette, style
from fathom_page.figure import Figure, Missing
from fathom_page.hints import TRAIN
from fathom_report import laws
from fathom_report.hints import command
from fathom_report.selection import one_setting, usual_batch, without_variants
from fathom_runs.words import listed, percent, plural

NAME = ("fathom-1", "Op times over steps", "Fathom, Fig. 1")
HEAVIEST = 3  # op types per workload
SHOWN = 200  # steps that are drawn; statistics use all steps


def figure(run):
    series, words = samples_of(run)
    if series is None:
        return Missing(
            *NAME,
            "samples of training steps: "
            + command(run, [TRAIN], "--fathom_profile", "--fathom_samples=steps.jsonl")
            + ", and pass steps.jsonl to the report, too",
        )
    data = pd.concat([described(*one) for one in series], ignore_index=True)
    return Figure(
        *NAME, sentence(data, words), thinned(data), lambda figure: draw(figure, thinned(data))
    )


def samples_of(run):
    """Pairs (row, samples) of the largest op types of each training step. Without them, of the steps."""
    for table, is_step in ((run.op_types, False), (run.steps, True)):
        table = table[(table["mode"] == "train") & table.name.isin(run.samples.name)]
        if not is_step:
            table = table[table.op_class != palette.FRAMEWORK]
        if table.empty:
            continue
        table, words = one_setting(without_variants(table, run.catalogue))
        table = usual_batch(table, run.catalogue)
        if is_step:
            table = table.assign(type="step", op_class=palette.FRAMEWORK)
        ranked = table.sort_values("us", ascending=False, kind="stable")
        chosen = ranked.groupby("workload").head(HEAVIEST)
        place = chosen.workload.map(list(dict.fromkeys(table.workload)).index)
        chosen = chosen.loc[place.sort_values(kind="stable").index]
        by_name = dict(list(run.samples.groupby("name")))
        return [(row, by_name[row["name"]]) for _, row in chosen.iterrows()], words
    return None, ""


def described(row, samples):
    """The samples of the first repetition with their statistics."""
    samples = samples[samples.repetition == samples.repetition.min()].sort_values("step")
    drift = laws.drift(samples.us.to_numpy())
    return samples[["step", "us"]].assign(
        workload=row.workload,
        type=row.type,
        op_class=row.op_class,
        cv_pct=laws.coefficient_of_variation(samples.us),
        drift_rho=drift.rho if drift else float("nan"),
        drifts=drift.found if drift else None,
    )[["workload", "type", "op_class", "step", "us", "cv_pct", "drift_rho", "drifts"]]


def thinned(data):
    """Keeps at most SHOWN steps of a series, evenly spaced."""
    groups = data.groupby(["workload", "type"], sort=False)
    every = (groups.us.transform("size") + SHOWN - 1) // SHOWN
    return data[groups.cumcount() % every == 0].reset_index(drop=True)


def sentence(data, words):
    one = data.drop_duplicates(["workload", "type"])
    is_step = (one.type == "step").all()
    few, many = data.groupby(["workload", "type"]).size().agg(["min", "max"])
    steps = f"{few} to {many} steps" if few < many else plural(few, "step")
    if len(one) == 1:
        over = f"{name_of(one.iloc[0])} over {steps}"
    elif is_step:
        over = f"Of {len(one)} training steps, over {steps} each"
    else:
        count = plural(one.workload.nunique(), "training step")
        over = f"Of the {len(one)} largest op types in {count}, over {steps}"
    tested = one[one.drift_rho.notna()]
    drifting = tested[tested.drifts.astype(bool)]
    if tested.empty:
        drift = f"fewer than {laws.MIN_STEPS} steps each are too few to detect drift"
    elif drifting.empty and len(tested) < len(one):
        drift = f"none of the {len(tested)} with {laws.MIN_STEPS} steps or more drifts"
    elif drifting.empty:
        drift = "none drifts" if len(tested) > 1 else "it does not drift"
    else:
        names = [
            f"{name_of(row)} ({'rising' if row.drift_rho > 0 else 'falling'})"
            for row in drifting.itertuples()
        ]
        drift = f"{len(drifting)} drift{'s' if len(drifting) == 1 else ''}: {listed(names)}"
    result = f"{over}: {drift}"
    varying = one[one.cv_pct.notna()]
    if len(varying) > 1:
        most, least = (
            varying.loc[index] for index in (varying.cv_pct.idxmax(), varying.cv_pct.idxmin())
        )
        result += (
            f"; the median coefficient of variation is {percent(varying.cv_pct.median())}, the largest "
            f"{percent(most.cv_pct)} ({name_of(most)}), the smallest {percent(least.cv_pct)} ({name_of(least)})"
        )
    elif len(varying) == 1:
        result += f"; its coefficient of variation is {percent(varying.cv_pct.iloc[0])}"
    return f"{result}. Setting: {words}."


def name_of(row):
    return row.workload if row.type == "step" else f"{row.workload}'s {row.type}"


def draw(figure, data):
    workloads = list(dict.fromkeys(data.workload))
    axes = style.panels(figure, len(workloads), height=1.7)
    for axis, workload in zip(axes, workloads):
        labels = []
        for name, one in data[data.workload == workload].groupby("type", sort=False):
            colour = palette.class_colour(one.op_class.iloc[0])
            axis.plot(one.step, one.us / 1e3, color=colour, linewidth=1.2)
            cv = one.cv_pct.iloc[0]
            arrow = " ↗" if one.drift_rho.iloc[0] > 0 else " ↘"
            mark = arrow if one.drifts.iloc[0] else ""
            text = f"{name} {percent(cv) if cv == cv else ''}{mark}".strip()
            labels.append((one.step.iloc[-1], one.us.median() / 1e3, text, colour))
        axis.set_yscale("log")
        low, high = axis.get_ylim()
        axis.set_ylim(low / 1.5, high * 1.5)
        style.plain_log(axis, "y")
        style.grid(axis, "y")
        marks.end_labels(axis, labels, 0.15)
        axis.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(4, integer=True))
        axis.set_title(workload)
        axis.set_ylabel("ms")
    axes[-1].set_xlabel("step; percent: coefficient of variation")
