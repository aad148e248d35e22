"""Steps that were measured in several formats of numbers: times, bytes, shares of the peaks, distance to fp32."""

from collections.abc import Callable
from typing import NamedTuple

import pandas as pd

from fathom_page import palette, style
from fathom_page.figure import Figure, Missing
from fathom_page.hints import STEPS
from fathom_report.hints import command
from fathom_report.ours.backends import share_words
from fathom_report.selection import by_workload, with_amounts
from fathom_runs.catalogue import FRAMEWORK
from fathom_runs.names import brief, common, tokens, without
from fathom_runs.precisions import FP32, place
from fathom_runs.words import factor, listed, of_peak, plural, ranged, size_words, time_words

NAME = ("ours-6", "A step's time and bytes over the formats", "fathom_bench")
SETTING = ["workload", "mode", "device", "threads", "batch", "backend"]
SHARES = ["bytes_pct_peak", "flops_pct_peak", "distance_to_fp32"]  # columns of rows and of the data


class Panel(NamedTuple):
    """A column of bars, with the values as text."""

    bar: str
    value: str
    words: Callable[[float], str]
    heading: str
    better: str


PANELS = (
    Panel("pct_of_fp32", "us", time_words, "time,\n% of fp32", "Less time"),
    Panel("bytes_pct_of_fp32", "step_bytes", size_words, "bytes,\n% of fp32", "fewer bytes"),
    Panel(
        *("bytes_pct_peak", "bytes_pct_peak", of_peak, "% of the\nbandwidth"),
        "a larger share of the measured bandwidth",
    ),
    Panel(
        *("flops_pct_peak", "flops_pct_peak", of_peak, "% of the format's\nFLOP/s peak"),
        "a larger share of the FLOP/s peak that was measured in the format",
    ),
    Panel(
        *("distance_to_fp32", "distance_to_fp32", factor, "distance\nto fp32"),
        "a smaller distance of the results to those in fp32",
    ),
)


def figure(run):
    steps = in_several_formats(run.steps)
    if steps.empty:
        return Missing(
            *NAME,
            "steps in at least two precisions, at one setting and batch size: "
            + command(run, [STEPS], f"--fathom_precision={FP32},bf16"),
        )
    data, names = relative(steps), list(dict.fromkeys(steps.step))
    left_out = run.steps.name.map(of_any_format).nunique() - len(names)
    text = sentence(data, names, left_out)
    return Figure(*NAME, text, data, lambda figure: draw(figure, data))


def of_any_format(name):
    """What the rows of a step have in common."""
    return without(name, "precision")


def in_several_formats(steps):
    """The rows of steps that differ in nothing but the precision, together and in the order of the formats."""
    steps = steps.assign(step=steps.name.map(of_any_format))
    steps = by_workload(steps[steps.groupby("step").precision.transform("nunique") > 1])
    order = {step: number for number, step in enumerate(dict.fromkeys(steps.step))}
    places = pd.DataFrame({0: steps.step.map(order), 1: steps.precision.map(place)}, steps.index)
    return steps.loc[places.sort_values([0, 1]).index]


def relative(steps):
    """The drawn data. A step without a row in fp32 has no ratios."""
    base = with_amounts(steps[steps.precision == FP32]).set_index("step")
    sizes, names = with_amounts(steps).byte, list(dict.fromkeys(steps.step))
    shares = {key: pd.to_numeric(steps[key], errors="coerce") for key in SHARES}
    return steps[[*SETTING, "precision", "us"]].assign(
        step=steps.step.map(lambda name: brief(name, names)),
        pct_of_fp32=100 * steps.us / steps.step.map(base.us),
        step_bytes=sizes,
        bytes_pct_of_fp32=100 * sizes / steps.step.map(base.byte),
        **shares,
    )


def panels(data):
    """The panels with values."""
    return [panel for panel in PANELS if data[panel.value].notna().any()]


def sentence(data, names, left_out):
    """`names` are those of the steps without their precision, `left_out` counts the steps in one format."""
    parts = [of_format(precision, one) for precision, one in by_format(data) if precision != FP32]
    if data.distance_to_fp32.notna().any():
        far = data.loc[data.distance_to_fp32.idxmax()]
        parts.append(
            f"The largest distance to fp32 is {factor(far.distance_to_fp32)} ({far.step} in {far.precision})"
        )
    bare = data[~data.step.isin(data[data.precision == FP32].step)].step.unique()
    if len(bare):
        parts.append(f"Without a row in fp32, so without ratios: {listed(bare, most=4)}")
    better = [panel.better for panel in panels(data)]
    parts.append(f"{listed(better)} {'is' if len(better) == 1 else 'are'} better")
    shared = common(names) if len(names) > 1 else tokens(names[0])
    setting = ", ".join(f"{key} {value}" for key, value in shared.items())
    text = f"Rows: {plural(len(names), 'step')} of which the run has two formats or more"
    text += f" ({setting})" if setting else ""
    text += f"; {plural(left_out, 'step')} in one format left out" if left_out else ""
    return ". ".join([*filter(None, parts), text]) + "."


def by_format(data):
    """Pairs of a format and its rows, in the order of the formats."""
    return sorted(data.groupby("precision", sort=False), key=lambda pair: place(pair[0]))


def of_format(precision, data):
    """Times and bytes in a format. Empty without ratios."""
    data = data.set_index("step")
    times, sizes = data.pct_of_fp32.dropna(), data.bytes_pct_of_fp32.dropna()
    if times.empty:
        return ""
    text = share_words(f"In {precision}", times, f"in {FP32}")
    return text + (f"; bytes: {ranged(sizes)} of those in {FP32}" if len(sizes) else "")


def draw(figure, data):
    shown, first = panels(data), ~data.step.duplicated().to_numpy()
    y = 1.3 * first.cumsum() + range(len(data))  # above each step there is room for its name
    axes = style.axes(figure, 1.2 + 0.22 * y[-1], 1, len(shown), sharey=True)[0]
    grey = palette.class_colour(FRAMEWORK)
    colours = [grey if precision == FP32 else palette.FIRST for precision in data.precision]
    for axis, panel in zip(axes, shown):
        bars = data[panel.bar].fillna(0)
        axis.barh(y, bars, 0.72, color=colours)
        for height, end, value in zip(y, bars, data[panel.value]):
            if not pd.isna(value):
                axis.text(end, height, f" {panel.words(value)}", va="center", in_layout=False)
        if panel.bar.endswith("pct_of_fp32"):
            axis.axvline(100, color=style.INK, alpha=0.3, linewidth=1)
        axis.set_xlim(0, 1.9 * bars.max() or 1)  # room for the text
        style.grid(axis, "x")
        axis.set_xlabel(panel.heading)
        axis.spines["left"].set_visible(False)
    axes[0].set_yticks(y, data.precision)
    axes[0].set_ylim(y[-1] + 0.6, y[0] - 1.6)
    place_of = axes[0].get_yaxis_transform()
    for height, step in zip(y[first], data.step[first]):
        axes[0].text(0, height - 1, step, transform=place_of, va="center", in_layout=False)
