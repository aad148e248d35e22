"""The share of the FLOP/s peak that steps reach on both sides, and whether faster hardware is used less well."""

import pandas as pd

from fathom_compare.interval import geometric_mean
from fathom_compare.means import MODES
from fathom_compare.selection import in_figures
from fathom_page import marks, palette, style
from fathom_page.figure import Figure, Missing
from fathom_page.hints import STEPS
from fathom_runs.words import of_peak, plural

NAME = ("Share of the FLOP/s peak in steps", "TBD, Fig. 7 (Observation 9)")
COLUMNS = ["mode", "setting", "workload", "batch", "base_flops_pct_peak", "other_flops_pct_peak"]
SIDES = {"base": palette.FIRST, "other": palette.SECOND}
MAX_LETTERS = 90  # of both titles on one line of a legend


def figure(comparison):
    name = (f"shares{comparison.key}", *NAME)
    steps = known(comparison.steps)
    settings = in_figures(steps)
    if not settings:
        return Missing(*name, needs(comparison))
    ends = [settings[0], *settings[-1:]] if len(settings) > 1 else settings
    data = pd.concat([rows.assign(setting=words) for words, rows in ends])
    data = data[COLUMNS].reset_index(drop=True)
    return Figure(
        *name,
        observation(comparison) or counted(data, comparison),
        comparison.lettered(data),
        lambda figure: draw(figure, data, comparison),
    )


def needs(comparison):
    return f"steps with flops_pct_peak on both sides: {comparison.command([STEPS])}"


def known(steps):
    return steps[(steps.base_flops_pct_peak > 0) & (steps.other_flops_pct_peak > 0)]


def observation(comparison):
    """TBD's Observation 9, tested with the training steps at the most threads, or on the GPU. None without them."""
    steps = known(comparison.steps)
    settings = in_figures(steps[steps["mode"] == "train"])
    if not settings:
        return None
    words, rows = settings[-1]
    speed = geometric_mean(rows.speedup)
    sides = [
        (comparison.base, rows.base_flops_pct_peak),
        (comparison.other, rows.other_flops_pct_peak),
    ]
    (slow, old), (fast, new) = sides if speed.value >= 1 else sides[::-1]
    factor = max(speed.value, 1 / speed.value)
    ratio = geometric_mean(new / old)
    first = ""
    if len(settings) > 1:  # a peak of many threads may be too low
        other_words, one = settings[0]
        shares = one.other_flops_pct_peak / one.base_flops_pct_peak
        mean = geometric_mean(shares if fast is comparison.other else 1 / shares)
        first = f"; {other_words}: {mean.value:.2f}{interval_words(mean)}"
    lower = int((new < old).sum())
    means = [of_peak(geometric_mean(one).value) for one in (new, old)]
    return (
        f"{verdict(ratio)}: {fast.letter} is {factor:.3g} times as fast as {slow.letter} and reaches {means[0]} of its "
        f"FLOP/s peak, where {slow.letter} reaches {means[1]}; the share of {fast.letter} is lower in {lower} of "
        f"{plural(len(rows), 'workload')} (training, {words}; geometric means; "
        f"ratio of the shares {ratio.value:.2f}{interval_words(ratio)}{first})."
    )


def verdict(ratio):
    """The finding."""
    low, high = ratio.low, ratio.high
    if low != low:
        return "Too few workloads tell how well the faster side is used"
    if high < 1:
        return "The faster side is used less well, as TBD found"
    if low > 1:
        return "The faster side is used better, unlike in TBD"
    return "Both sides are used about equally well, unlike in TBD"


def interval_words(mean):
    if mean.low != mean.low:
        return ""
    return f", 95 % interval over workloads {mean.low:.2f} to {mean.high:.2f}"


def counted(data, comparison):
    lower = int((data.other_flops_pct_peak < data.base_flops_pct_peak).sum())
    return (
        f"The share of {comparison.other.letter} is lower than that of {comparison.base.letter} in {lower} of "
        f"{plural(len(data), 'step')}."
    )


def draw(figure, data, comparison):
    settings = list(dict.fromkeys(data.setting))
    modes = [mode for mode in MODES if (data["mode"] == mode).any()]
    names = list(dict.fromkeys(data.workload))
    size = {"sharex": True, "sharey": True}
    height = 1.2 + len(modes) * (0.5 + 0.21 * len(names))
    grid = style.axes(figure, height, len(modes), len(settings), **size)
    for axes, mode in zip(grid, modes):
        for axis, setting in zip(axes, settings):
            one = data[(data["mode"] == mode) & (data.setting == setting)]
            y = [names.index(name) for name in one.workload]
            ends = [one[f"{side}_flops_pct_peak"] for side in SIDES]
            axis.hlines(y, *ends, color=style.INK, alpha=0.3, linewidth=1.2)
            for shares, colour in zip(ends, SIDES.values()):
                axis.plot(shares, y, "o", color=colour, markersize=6)
            axis.set_title(f"{MODES[mode]}, {setting}")
    for axis in grid.ravel():
        style.grid(axis, "x")
        axis.spines["left"].set_visible(False)
    first = grid[0, 0]
    first.set_yticks(range(len(names)), names)
    first.set_ylim(len(names) - 0.5, -0.5)
    most = max(data.base_flops_pct_peak.max(), data.other_flops_pct_peak.max())
    first.set_xlim(-0.02 * most, 1.05 * most)  # a point at 0 stays whole
    for axis in grid[-1]:
        axis.set_xlabel("% of the measured FLOP/s peak")
    side_key(figure, comparison)


def side_key(figure, comparison, marker="o", more=()):
    """Draws a legend of the two sides, and of `more` kinds (fathom_page.marks)."""
    kinds = [
        (f"{side.letter}: {side.title}", {"marker": marker, "color": colour})
        for side, colour in zip((comparison.base, comparison.other), SIDES.values())
    ]
    is_long = sum(len(words) for words, _ in kinds) > MAX_LETTERS
    marks.marker_key(figure, [*kinds, *more], columns=1 if is_long else 2)
