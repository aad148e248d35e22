"""TBD's Fig. 4: throughput against batch size."""

import pandas as pd

from fathom_page import style
from fathom_page.figure import Figure, Missing
from fathom_report import laws
from fathom_report.tbd.sweeps import draw_lines, needs, training_sweeps
from fathom_runs.words import factor, listed, ranged

NAME = ("tbd-1", "Throughput against batch", "TBD, Fig. 4")
SATURATED = 10  # percent; throughput is saturated if doubling the batch adds less


def figure(run):
    sweeps = training_sweeps(run.steps[run.steps.items_per_second > 0])
    if not sweeps:
        return Missing(*NAME, needs(run))
    data = pd.concat([table for table, _ in sweeps])
    columns = ["workload", "device", "threads", "batch", "us", "items_per_second"]
    sentences = [sentence(table, words) for table, words in sweeps]
    return Figure(
        *NAME,
        " ".join(sentences),
        data[columns].reset_index(drop=True),
        lambda figure: draw(figure, sweeps),
    )


def sentence(table, words):
    """The caption: throughput of the largest batch relative to the smallest, and saturated workloads."""
    ends = {}
    stopped = []
    for workload, one in table.groupby("workload", sort=False):
        rates, batches = one.items_per_second.to_numpy(), one.batch.to_numpy()
        ends[f"{workload}, batch {batches[0]} to {batches[-1]}"] = rates[-1] / rates[0]
        # Per doubling, also if the last two sizes differ by another factor.
        growth = (rates[-1] / rates[-2]) ** (1 / laws.doublings(batches[-2], batches[-1]))
        if growth < 1 + SATURATED / 100:
            stopped.append(workload)
    grown = ranged(pd.Series(ends), factor)
    text = f"{words}: from the smallest to the largest batch, training throughput is multiplied by {grown}"
    if not stopped:
        return f"{text}. The last doubling adds {SATURATED} % or more{' in all' if len(ends) > 1 else ''}."
    named = "all" if len(stopped) == len(ends) > 1 else listed(stopped)
    return f"{text}. The last doubling adds less than {SATURATED} % in {named}."


def draw(figure, sweeps):
    axes = style.axes(figure, 3.6, 1, len(sweeps))[0]
    for axis, (table, words) in zip(axes, sweeps):
        draw_lines(axis, table, "items_per_second")
        axis.set_title(words)
        axis.set_xlabel("batch")
    axes[0].set_ylabel("training throughput, samples/s")
