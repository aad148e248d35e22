"""Fathom's Fig. 5: training and inference on the CPU and a GPU."""

from fathom_page import marks, palette, style
from fathom_page.figure import Figure, Missing
from fathom_page.hints import STEPS
from fathom_report import laws
from fathom_report.hints import command
from fathom_report.selection import on_torch, preferred, usual_batch, without_variants
from fathom_runs.precisions import FP32
from fathom_runs.words import factor, percent, plural, ranged

NAME = ("fathom-5", "Training and inference, CPU and GPU", "Fathom, Fig. 5")
COLOURS = {"cpu": palette.FIRST, "cuda": palette.SECOND}


def figure(run):
    data = relative_times(run.steps, run.catalogue)
    if data.empty:
        return Missing(
            *NAME,
            "training steps on the CPU at one thread: "
            + command(run, [STEPS], "--fathom_device=cpu", "--fathom_threads=1"),
        )
    return Figure(*NAME, sentence(data), data, lambda figure: draw(figure, data))


def relative_times(steps, catalogue):
    """Times of steps relative to the training step on one CPU thread: one thread, the most threads, and a GPU."""
    steps = on_torch(steps[steps.us > 0])
    steps = steps[steps.precision == preferred(steps.precision, FP32)]
    steps = usual_batch(without_variants(steps, catalogue), catalogue)
    base = steps[(steps.device == "cpu") & (steps.threads == 1) & (steps["mode"] == "train")]
    unit = base.set_index("workload").us
    steps = steps[steps.workload.isin(unit.index)]
    on_cpu = steps.device == "cpu"
    most = steps[on_cpu].groupby(["workload", "mode"]).threads.transform("max")
    ends = ~on_cpu | (steps.threads == 1) | (steps.threads == most.reindex(steps.index))
    data = steps[ends][["workload", "mode", "device", "threads", "batch", "precision", "us"]]
    return data.assign(relative=data.us / data.workload.map(unit)).reset_index(drop=True)


def sentence(data):
    parts = []
    one = data[(data.device == "cpu") & (data.threads == 1)]
    infer = one[one["mode"] == "infer"].set_index("workload").relative
    if infer.empty:
        parts.append("The run has no inference steps")
    else:
        size = one.set_index(["workload", "mode"]).batch
        shares = 100 * infer.rename(lambda name: with_batches(name, size[name]))
        parts.append(
            f"On one CPU thread, an inference takes {ratios(shares, percent, ' of a training step')}"
        )
    more = data[(data.device == "cpu") & (data.threads > 1) & (data["mode"] == "train")]
    if not more.empty:
        most = plural(more.threads.max(), "thread")
        gain = (1 / more.set_index("workload").relative).sort_values()
        parts.append(
            f"with up to {most}, the speedup of timed training steps is {ratios(gain, factor)}"
        )
    gpu = data[data.device == "cuda"].set_index("workload")
    if gpu.empty:
        parts.append("the run has no rows of a GPU")
    else:
        train = 1 / gpu[gpu["mode"] == "train"].relative
        base = gpu[gpu["mode"] == "infer"].relative
        parts.extend(
            f"the speedup of {what} on the GPU over one CPU thread is {ratios(gain, factor)}"
            for what, gain in (("training", train), ("inference", (infer / base).dropna()))
            if not gain.empty
        )
    return f"{'; '.join(parts)}. Setting: {data.precision.iloc[0]}."


def with_batches(workload, sizes):
    """The workload, with its batch sizes if those of inference and training differ."""
    if sizes["infer"] == sizes["train"]:
        return workload
    return f"{workload}, batch {sizes['infer']} instead of {sizes['train']}"


def ratios(values, words, unit=""):
    """The range, then `unit`, then the geometric mean."""
    text = ranged(values, words)
    mean = words(laws.geometric_mean(values))
    return f"{text}{unit}, geometric mean {mean}" if " to " in text else text + unit


def draw(figure, data):
    workloads = list(dict.fromkeys(data.workload))
    (axis,) = style.axes(figure, 1.5 + 0.42 * len(workloads))[0]
    most = data[data.device == "cpu"].threads.max()
    kinds = []
    for (mode, device, many), one in data.groupby(["mode", "device", data.threads > 1], sort=False):
        y = [workloads.index(name) + (0.14 if mode == "infer" else -0.14) for name in one.workload]
        colour = COLOURS.get(device, style.INK)
        name = (
            "GPU" if device == "cuda" else f"CPU, {plural(most, 'thread') if many else '1 thread'}"
        )
        style_of = {
            "marker": "D" if device == "cuda" else "s" if many else "o",
            "markerfacecolor": colour if mode == "train" else "none",
            "color": colour,
        }
        axis.plot(one.relative, y, linestyle="none", markersize=7, markeredgewidth=1.5, **style_of)
        kinds.append((f"{mode}, {name}", style_of))
    for y in range(len(workloads)):
        axis.axhline(y + 0.5, color=style.INK, alpha=0.12, linewidth=0.8)
    axis.axvline(1, color=style.INK, alpha=0.5, linewidth=0.8)
    axis.set_ylim(len(workloads) - 0.5, -0.5)
    axis.set_yticks(range(len(workloads)), [batches(data, name) for name in workloads])
    style.plain_log(axis, "x")
    style.grid(axis, "x")
    axis.spines["left"].set_visible(False)
    axis.set_xlabel("time of a step relative to the training step on one CPU thread")
    kinds.sort(key=lambda kind: (kind[0].split(", ")[1:], kind[0][0] != "t"))
    marks.marker_key(figure, kinds, columns=(len(kinds) + 1) // 2)


def batches(data, workload):
    """The workload, with its batch sizes if those of training and inference differ."""
    sizes = list(dict.fromkeys(data[data.workload == workload].batch))
    return f"{workload}\n(batch {' / '.join(map(str, sizes))})" if len(sizes) > 1 else workload
