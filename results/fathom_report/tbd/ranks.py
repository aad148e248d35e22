"""TBD's Fig. 9: throughput and exposed communication against ranks, measured and predicted."""

import pandas as pd

from fathom_page import marks, palette, style
from fathom_page.figure import Figure, Missing
from fathom_report.hints import command
from fathom_report.selection import one_setting, usual_batch, without_variants
from fathom_runs.words import factor, plural, ranged

NAME = ("tbd-5", "Throughput and communication against ranks", "TBD, Fig. 9 (Observation 12)")
NEEDED = ["^({})/train/.*ranks:", "^op/all_reduce/({})/bucket"]  # filters of rows
GROUP = ["file", "workload", "ranks"]
STEP_BACKENDS = ["gloo", "nccl"]  # with which steps reduce; MPI's rows are for comparison
SAME_BYTES = 0.01  # relative difference of the buckets' bytes from those of the step's gradients


def figure(run):
    steps = run.rank_steps[(run.rank_steps.us > 0) & (run.rank_steps.items_per_second > 0)]
    if steps.empty:
        return Missing(
            *NAME,
            "training steps of several ranks, and the reductions of their gradients: "
            + command(run, NEEDED, "--fathom_ranks=1,2"),
        )
    steps, words = one_setting(without_variants(steps, run.catalogue))
    steps = usual_batch(steps, run.catalogue)
    of_device = run.rank_ops[run.rank_ops.device.isin(steps.device)]
    data = with_predictions(steps, reductions(of_device))
    return Figure(*NAME, sentence(data, words), data, lambda figure: draw(figure, data))


def reductions(ops):
    """For each file, workload and number of ranks: the buckets' all_reduce rows, their time and bytes."""
    buckets = ops[(ops.type == "all_reduce") & ops.layer.astype(str).str.fullmatch(r"bucket\d+")]
    buckets = buckets[buckets.backend.isin(STEP_BACKENDS)]
    us, algbw = (pd.to_numeric(buckets[key], errors="coerce") for key in ("us", "algbw"))
    buckets = buckets[GROUP].assign(us=us, size=algbw * us / 1e6)
    sums = buckets.groupby(GROUP, as_index=False)
    return sums.agg(all_reduce_us=("us", "sum"), rows=("us", "size"), size=("size", "sum"))


def with_predictions(steps, sums):
    """The drawn data. A step with other buckets than the op rows has no prediction."""
    steps = steps.merge(sums, "left", on=GROUP)
    off = (steps["size"] / steps.gradient_bytes - 1).abs()
    known = (steps.rows == steps.buckets) & (off <= SAME_BYTES)
    measured = steps.p50_us.fillna(steps.us)
    exposed = (steps.all_reduce_us - steps.overlapped_us).clip(lower=0).where(known)
    predicted = steps.local_step_us + exposed
    return steps[[*GROUP, "batch", "items_per_second", "scaling_pct", "local_step_us"]].assign(
        all_reduce_us=steps.all_reduce_us.where(known),
        overlapped_us=steps.overlapped_us,
        measured_us=measured,
        predicted_us=predicted,
        predicted_over_measured=predicted / measured,
        exposed_pct=100 * steps.exposed_us / measured,
        predicted_exposed_pct=100 * exposed / predicted,
    )


def sentence(data, words):
    files = dict(list(data.groupby("file", sort=False)))
    parts = [
        f"{file}: {of_file(one)}" if len(files) > 1 else of_file(one) for file, one in files.items()
    ]
    text = ". ".join(part[:1].upper() + part[1:] if len(files) == 1 else part for part in parts)
    names = data.workload + ", " + data.ranks.map(lambda ranks: plural(ranks, "rank"))
    ratios = data.set_index(names).predicted_over_measured.dropna()
    if not ratios.empty:
        text += (
            ". The prediction, the local step plus the part of its buckets' op rows that the backward pass does not "
            f"hide, is {ranged(ratios, factor)} times the measured step"
        )
    if missing := len(data) - len(ratios):
        text += (
            f". {plural(missing, 'step')} {'has' if missing == 1 else 'have'} no prediction, which needs the "
            "file's rows op/all_reduce/<workload>/bucket<i> of the same ranks and buckets"
        )
    return f"{text}. Setting of each rank: {words}."


def of_file(data):
    """Throughput of the most ranks relative to the fewest, and the share of exposed communication there."""
    low, high = data.ranks.min(), data.ranks.max()
    exposed = data[data.ranks == high].set_index("workload").exposed_pct.dropna()
    parts = []
    if low < high:
        rates = data.pivot_table(index="workload", columns="ranks", values="items_per_second")
        gain = (rates[high] / rates[low]).dropna()
        grown = ranged(gain, factor) if len(gain) else "unknown: no step has both"
        parts.append(
            f"from {plural(low, 'rank')} to {high}, training throughput is multiplied by {grown}"
        )
    if not exposed.empty:
        share = ranged(exposed)
        parts.append(
            f"with {plural(high, 'rank')}, exposed communication takes {share} of the step"
        )
    return "; ".join(parts) or f"steps of {plural(high, 'rank')}"


def draw(figure, data):
    workloads = list(dict.fromkeys(data.workload))
    files = list(dict.fromkeys(data.file))
    colours = palette.line_colours(files)
    grid = style.axes(figure, 1.2 + 1.8 * len(workloads), len(workloads), 2)
    for axes, workload in zip(grid, workloads):
        mine = data[data.workload == workload].sort_values("ranks", kind="stable")
        for file, one in mine.groupby("file", sort=False):
            predicted = one.items_per_second / one.predicted_over_measured
            line(axes[0], one.ranks, one.items_per_second, predicted, colours[file])
            line(axes[1], one.ranks, one.exposed_pct, one.predicted_exposed_pct, colours[file])
        for axis in axes:
            style.count_axis(axis, mine.ranks)
            style.grid(axis)
            axis.set_title(workload)
        style.plain_log(axes[0], "y")
        low, high = axes[1].get_ylim()
        axes[1].set_ylim(min(low, 0), max(high, 1))
        axes[0].set_ylabel("samples/s")
        axes[1].set_ylabel("exposed, % of the step")
    for axis in grid[-1]:
        axis.set_xlabel("ranks")
    kinds = [(file, {"marker": "o", "color": colour}) for file, colour in colours.items()]
    open_ = {"marker": "D", "color": style.INK, "markerfacecolor": "none"}
    marks.marker_key(figure, [*kinds, ("predicted", open_)], columns=4)


def line(axis, ranks, measured, predicted, colour):
    axis.plot(ranks, measured, "-o", color=colour, markersize=4)
    axis.plot(ranks, predicted, "--D", color=colour, markersize=7, markerfacecolor="none")
