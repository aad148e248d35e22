"""The figures of the TBD paper (IISWC 2018): what a batch size buys, and what it costs."""

import pandas as pd

from fathom_report import laws, marks, palette, style, tbd_ops
from fathom_report.figure import Figure, Missing
from fathom_report.selection import one_setting
from fathom_runs.words import listed, ranged, times

SWEEP = "training steps of at least two batch sizes: ./fathom_bench --fathom_batch=8,16,32 --benchmark_out=run.json"
THROUGHPUT = ("tbd-1", "Throughput against batch", "TBD, Fig. 4")
UTILISATION = ("tbd-2", "Utilisation against batch", "TBD, Figs. 5 and 6")
MEMORY = ("tbd-3", "Memory against batch", "TBD, Fig. 8")
SATURATED = 10  # percent of throughput that a doubling of the batch still brings, at most
AT_PEAK = {name: f"memory_{name}_at_peak_bytes" for name in palette.MEMORY_COLOURS}


def figures(run):
    yield throughput(training_sweeps(run.steps[run.steps.items_per_second > 0]))
    yield utilisation(training_sweeps(run.steps))
    yield memory(run.steps)
    yield tbd_ops.below_average(run)


def training_sweeps(steps):
    """Training steps in more than one batch size: a (table, setting in words) a device, each at its most threads.

    Utilisation of one thread would always be that of the thread, so the whole machine is shown, as TBD does.
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


def throughput(sweeps):
    if not sweeps:
        return Missing(*THROUGHPUT, SWEEP)
    data = pd.concat([table for table, _ in sweeps])
    columns = ["workload", "device", "threads", "batch", "us", "items_per_second"]
    sentences = [gains(table, words) for table, words in sweeps]
    return Figure(
        *THROUGHPUT,
        " ".join(sentences),
        data[columns].reset_index(drop=True),
        lambda figure: draw_throughput(figure, sweeps),
    )


def gains(table, words):
    """By how much throughput grows from the smallest to the largest batch, and where it has stopped growing."""
    ends = {}
    stopped = []
    for workload, one in table.groupby("workload", sort=False):
        rates, batches = one.items_per_second.to_numpy(), one.batch.to_numpy()
        ends[f"{workload}, batch {batches[0]} to {batches[-1]}"] = rates[-1] / rates[0]
        # Per doubling, whatever the step between the last two sizes is.
        growth = (rates[-1] / rates[-2]) ** (1 / laws.doublings(batches[-2], batches[-1]))
        if growth < 1 + SATURATED / 100:
            stopped.append(workload)
    grown = ranged(pd.Series(ends), times)
    text = f"{words}: from the smallest to the largest batch, training throughput grows {grown}"
    if not stopped:
        subject = "In none has it" if len(ends) > 1 else "It has not"
        return f"{text}. {subject} saturated: the last doubling brings {SATURATED} % or more."
    named = "all" if len(stopped) == len(ends) > 1 else listed(stopped)
    return f"{text}. The last doubling brings less than {SATURATED} % in {named}."


def draw_throughput(figure, sweeps):
    axes = style.axes(figure, 3.6, 1, len(sweeps))[0]
    for axis, (table, words) in zip(axes, sweeps):
        draw_lines(axis, table, "items_per_second")
        axis.set_title(words)
        axis.set_xlabel("batch")
    axes[0].set_ylabel("training throughput, samples/s")


def draw_lines(axis, table, column, log=True):
    """A line a workload, by name at its end."""
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


# --- utilisation

PANELS = {
    "cpu_pct": "CPU utilisation, %",
    "gpu_busy_pct": "GPU busy, %",
    "flops_pct_peak": "FLOP/s, % of the peak",
}


def utilisation(sweeps):
    if not sweeps:
        return Missing(*UTILISATION, SWEEP)
    data = pd.concat([table for table, _ in sweeps])
    on_cpu = data.device == "cpu"
    data = data.assign(
        cpu_pct=(100 * data.cpu_us / data.us / data.threads).where(on_cpu),
        gpu_busy_pct=pd.to_numeric(data.gpu_busy_pct, errors="coerce").where(~on_cpu),
        flops_pct_peak=pd.to_numeric(data.flops_pct_peak, errors="coerce"),
    )
    data = data[["workload", "device", "threads", "batch", *PANELS]].reset_index(drop=True)
    words = dict(zip([table.device.iloc[0] for table, _ in sweeps], [words for _, words in sweeps]))
    text = " ".join(utilisation_sentence(data[data.device == one], words[one]) for one in words)
    return Figure(*UTILISATION, text, data, lambda figure: draw_utilisation(figure, data, words))


def utilisation_sentence(data, words):
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
            parts.append(f"{name}: {ranged(known)}")
    return f"{words}, at the largest batch: {'; '.join(parts)}."


def draw_utilisation(figure, data, words):
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


# --- memory


def memory(steps):
    steps = steps[steps["mode"] == "train"]
    known = steps[[*AT_PEAK.values()]].apply(pd.to_numeric, errors="coerce").notna().any(axis=1)
    steps = steps[known & (steps.memory_peak_bytes > 0)]
    if steps.empty:
        needs = "training steps run with --fathom_memory, best in several sizes (--fathom_batch=8,16,32)"
        return Missing(*MEMORY, needs)
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
    return Figure(
        *MEMORY, memory_sentence(data, words), data, lambda figure: draw_memory(figure, data)
    )


def memory_sentence(data, words):
    last = data[data.batch == data.groupby("workload").batch.transform("max")]
    features = last[last.memory_class == "features"].set_index("workload").share_pct.sort_values()
    leads = last.loc[last.groupby("workload", sort=False).share_pct.idxmax()]
    named = [
        f"{kind} in {listed(ones.workload)}"
        for kind, ones in leads.groupby("memory_class", sort=False)
    ]
    text = f"When memory is fullest, at the largest batch, most of it holds {'; '.join(named)}"
    if not features.empty:
        text += f". What is saved for the backward pass takes {ranged(features)}"
    grown = growth(data)
    if grown:
        text += f"; one more sample needs {ranged(pd.Series(grown), megabytes)}"
    return f"{text} ({words})."


def megabytes(size):
    return f"{size / 1e6:.3g} MB"


def growth(data):
    """Bytes a sample more, between each workload's smallest and largest batch."""
    whole = data.drop_duplicates(["workload", "batch"]).set_index("batch")
    result = {}
    for workload, one in whole.groupby("workload"):
        peak = one.memory_peak_bytes.sort_index()
        if len(peak) > 1:
            result[workload] = (peak.iloc[-1] - peak.iloc[0]) / (peak.index[-1] - peak.index[0])
    return result


def draw_memory(figure, data):
    workloads = list(dict.fromkeys(data.workload))
    axes = style.panels(figure, len(workloads), columns=3, height=2.0)
    kinds = [kind for kind in palette.MEMORY_COLOURS if (data.memory_class == kind).any()]
    for axis, workload in zip(axes, workloads):
        table = data[data.workload == workload].pivot(
            index="batch", columns="memory_class", values="at_peak_bytes"
        )
        whole = table.sum(axis=1).max()
        unit, name = (1e9, "GB") if whole >= 2e8 else (1e6, "MB")
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
