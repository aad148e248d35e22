"""TBD's Fig. 4: what a larger batch brings."""

import pandas as pd

from fathom_page import style
from fathom_report import laws
from fathom_report.figure import Figure, Missing
from fathom_report.tbd.sweeps import NEEDS, draw_lines, training_sweeps
from fathom_runs.words import listed, ranged, times

NAME = ("tbd-1", "Throughput against batch", "TBD, Fig. 4")
SATURATED = 10  # percent of throughput that a doubling of the batch still brings, at most


def figure(run):
    sweeps = training_sweeps(run.steps[run.steps.items_per_second > 0])
    if not sweeps:
        return Missing(*NAME, NEEDS)
    data = pd.concat([table for table, _ in sweeps])
    columns = ["workload", "device", "threads", "batch", "us", "items_per_second"]
    sentences = [gains(table, words) for table, words in sweeps]
    return Figure(
        *NAME,
        " ".join(sentences),
        data[columns].reset_index(drop=True),
        lambda figure: draw(figure, sweeps),
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


def draw(figure, sweeps):
    axes = style.axes(figure, 3.6, 1, len(sweeps))[0]
    for axis, (table, words) in zip(axes, sweeps):
        draw_lines(axis, table, "items_per_second")
        axis.set_title(words)
        axis.set_xlabel("batch")
    axes[0].set_ylabel("training throughput, samples/s")
