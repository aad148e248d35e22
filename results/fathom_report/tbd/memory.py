"""TBD's Fig. 8: memory by class and batch size."""

import pandas as pd

from fathom_page import marks, palette, style
from fathom_page.figure import Figure, Missing
from fathom_page.hints import TRAIN
from fathom_report.hints import command
from fathom_report.selection import one_setting
from fathom_runs.words import listed, ranged

NAME = ("tbd-3", "Memory against batch", "TBD, Fig. 8")
AT_PEAK = {name: f"memory_{name}_at_peak_bytes" for name in palette.MEMORY_COLOURS}


def figure(run):
    steps = run.steps[run.steps["mode"] == "train"]
    known = steps[[*AT_PEAK.values()]].apply(pd.to_numeric, errors="coerce").notna().any(axis=1)
    steps = steps[known & (steps.memory_peak_bytes > 0)]
    if steps.empty:
        needs = command(run, [TRAIN], "--fathom_memory", "--fathom_batch=8,16,32")
        return Missing(
            *NAME, f"memory of training steps, preferably with several batch sizes: {needs}"
        )
    table, words = one_setting(steps)
    wide = table.sort_values("batch", kind="stable").rename(
        columns={v: k for k, v in AT_PEAK.items()}
    )
    data = wide.melt(
        ["workload", "batch", "memory_peak_bytes"], [*AT_PEAK], "memory_class", "at_peak_bytes"
    )
    data = data.dropna(subset="at_peak_bytes").sort_values(["workload", "batch"], kind="stable")
    data = data.assign(share_pct=100 * data.at_peak_bytes / data.memory_peak_bytes)
    data = data.reset_index(drop=True)
    return Figure(*NAME, sentence(data, words), data, lambda figure: draw(figure, data))


def sentence(data, words):
    last = data[data.batch == data.groupby("workload").batch.transform("max")]
    features = last[last.memory_class == "features"].set_index("workload").share_pct.sort_values()
    leads = last.loc[last.groupby("workload", sort=False).share_pct.idxmax()]
    named = [
        f"{kind} in {listed(ones.workload)}"
        for kind, ones in leads.groupby("memory_class", sort=False)
    ]
    text = f"At the memory peak of the largest batch, the largest class is {'; '.join(named)}"
    if not features.empty:
        text += (
            f". Features (tensors saved for the backward pass) take {ranged(features)} of the peak"
        )
    grown = growth(data)
    if grown:
        text += f"; each further sample adds {ranged(pd.Series(grown), megabytes)}"
    return f"{text}. Setting: {words}."


def megabytes(size):
    return f"{size / 1e6:.3g} MB"


def growth(data):
    """Bytes per additional sample, between the smallest and the largest batch of each workload."""
    peaks = data.drop_duplicates(["workload", "batch"]).set_index("batch")
    result = {}
    for workload, one in peaks.groupby("workload"):
        peak = one.memory_peak_bytes.sort_index()
        if len(peak) > 1:
            result[workload] = (peak.iloc[-1] - peak.iloc[0]) / (peak.index[-1] - peak.index[0])
    return result


def draw(figure, data):
    workloads = list(dict.fromkeys(data.workload))
    axes = style.panels(figure, len(workloads), columns=3, height=2.0)
    kinds = [kind for kind in palette.MEMORY_COLOURS if (data.memory_class == kind).any()]
    for axis, workload in zip(axes, workloads):
        table = data[data.workload == workload].pivot(
            index="batch", columns="memory_class", values="at_peak_bytes"
        )
        peaks = table.sum(axis=1).max()
        unit, name = (1e9, "GB") if peaks >= 2e8 else (1e6, "MB")
        bottom = 0
        for kind in [kind for kind in kinds if kind in table]:
            size = table[kind].fillna(0).to_numpy() / unit
            bars = [str(batch) for batch in table.index]
            axis.bar(bars, size, 0.7, bottom, color=palette.MEMORY_COLOURS[kind])
            bottom = bottom + size
        style.grid(axis, "y")
        axis.set_title(workload)
        axis.set_ylabel(name)
        axis.set_xlabel("batch")
    colours = [(kind, {"marker": "s", "color": palette.MEMORY_COLOURS[kind]}) for kind in kinds]
    marks.marker_key(figure, colours, columns=4)
