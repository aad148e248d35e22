"""TBD's Figs. 5 and 6: utilisation of CPU and GPU, and share of the FLOP/s peak."""

import pandas as pd

from fathom_page import style
from fathom_page.figure import Figure, Missing
from fathom_report.tbd.sweeps import draw_lines, needs, training_sweeps
from fathom_runs.words import of_peak, ranged

NAME = ("tbd-2", "Utilisation against batch", "TBD, Figs. 5 and 6")
PANELS = {
    "cpu_pct": "CPU utilisation, %",
    "gpu_busy_pct": "GPU busy, %",
    "flops_pct_peak": "FLOP/s, % of the peak",
}


def figure(run):
    sweeps = training_sweeps(run.steps)
    if not sweeps:
        return Missing(*NAME, needs(run))
    data = pd.concat([table for table, _ in sweeps])
    on_cpu = data.device == "cpu"
    data = data.assign(
        cpu_pct=(100 * data.cpu_us / data.us / data.threads).where(on_cpu),
        gpu_busy_pct=pd.to_numeric(data.gpu_busy_pct, errors="coerce").where(~on_cpu),
        flops_pct_peak=pd.to_numeric(data.flops_pct_peak, errors="coerce"),
    )
    data = data[["workload", "device", "threads", "batch", *PANELS]].reset_index(drop=True)
    words = dict(zip([table.device.iloc[0] for table, _ in sweeps], [words for _, words in sweeps]))
    text = " ".join(sentence(data[data.device == one], words[one]) for one in words)
    return Figure(*NAME, text, data, lambda figure: draw(figure, data, words))


def sentence(data, words):
    last = data.sort_values("batch", kind="stable").groupby("workload", sort=False).tail(1)
    parts = []
    names = {
        "cpu_pct": "CPU utilisation",
        "gpu_busy_pct": "GPU busy",
        "flops_pct_peak": "share of the FLOP/s peak",
    }
    for column, name in names.items():
        known = last[last[column].notna()].set_index("workload")[column].sort_values()
        if not known.empty:
            parts.append(f"{name}: {ranged(known, of_peak)}")
    return f"{words}, at the largest batch: {'; '.join(parts)}."


def draw(figure, data, words):
    shown = [
        (device, column)
        for device in words
        for column in PANELS
        if data[data.device == device][column].notna().any()
    ]
    axes = style.panels(figure, len(shown), height=2.9)
    for axis, (device, column) in zip(axes, shown):
        draw_lines(axis, data[data.device == device], column, log=False)
        axis.set_title(words[device])
        axis.set_ylabel(PANELS[column])
        axis.set_xlabel("batch")
