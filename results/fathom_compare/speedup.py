"""The speed-up of each step, as TBD's Fig. 7 compares two GPUs."""

import pandas as pd

from fathom_compare.interval import MIN_FILES, MIN_REPETITIONS, geometric_mean
from fathom_compare.means import MODES
from fathom_compare.ratio_axis import ratio_axis
from fathom_compare.selection import in_figures
from fathom_page import marks, palette, style
from fathom_page.figure import Figure, Missing
from fathom_page.hints import STEPS
from fathom_runs.words import factor, plural, ranged

NAME = ("Speed-up of each step", "TBD, Fig. 7")
MEAN = "geometric mean"
COLUMNS = ["mode", "setting", "workload", "batch", "base_us", "other_us", "speedup", "low", "high"]
COLUMNS += ["base_files", "other_files"]
MAX_SETTINGS = len(palette.LINE_COLOURS)


def figure(comparison):
    name = (f"speedup{comparison.key}", *NAME)
    settings = in_figures(comparison.steps)[-MAX_SETTINGS:]
    if not settings:
        return Missing(*name, f"steps on both sides: {comparison.command([STEPS])}")
    data = pd.concat([rows.assign(setting=words) for words, rows in settings])
    data = data[COLUMNS].reset_index(drop=True)
    promised = {words: peak_ratio(comparison, rows.iloc[0]) for words, rows in settings}
    return Figure(
        *name,
        sentence(data, promised, comparison),
        comparison.lettered(data),
        lambda figure: draw(figure, data, promised, comparison),
    )


def peak_ratio(comparison, row):
    """The ratio of the measured FLOP/s peaks of a setting. None if one is unknown."""
    sides = (comparison.base, row.threads), (comparison.other, row.other_threads)
    peaks = [side.peak_flops(row.device, threads, row.precision) for side, threads in sides]
    return None if None in peaks else peaks[1] / peaks[0]


def sentence(data, promised, comparison):
    base, other = comparison.base.letter, comparison.other.letter
    faster = int((data.speedup > 1).sum())
    text = f"{other} is faster than {base} in {faster} of {plural(len(data), 'step')}. "
    known = {setting: ratio for setting, ratio in promised.items() if ratio}
    if known:
        steps = data[data.setting.isin(known)]
        above = int((steps.speedup > steps.setting.map(known)).sum())
        text += (
            f"Relative to {base}, its FLOP/s peak is {ranged(pd.Series(known), factor)}; the speed-up of {above} of "
            f"{plural(len(steps), 'step')} is larger. "
        )
    if data.low.isna().all():
        text += (
            f"Steps have no intervals, which need {MIN_REPETITIONS} repetitions on both sides "
            "(--benchmark_repetitions=9), or better three files a side"
        )
    else:
        text += (
            "Lines through the points of steps are 95 % intervals of the ratio of medians, "
            + of_what(data)
        )
    return f"{text}."


def of_what(data):
    """What the intervals are of, in words."""
    files = data[data.low.notna()][["base_files", "other_files"]].min(axis=1) >= MIN_FILES
    words = {True: "between files", False: "of the repetitions of one run"}
    return " or ".join(words[one] for one in sorted(set(files), reverse=True))


def draw(figure, data, promised, comparison):
    modes = [mode for mode in MODES if (data["mode"] == mode).any()]
    names = [*dict.fromkeys(data.workload), MEAN]
    height = 1.7 + len(names) * max(0.24, 0.13 * len(promised))
    axes = style.axes(figure, height, 1, len(modes), sharey=True, sharex=True)[0]
    colours = dict(zip(promised, palette.LINE_COLOURS))
    means = []  # ends of their intervals
    for axis, mode in zip(axes, modes):
        for place, (setting, colour) in enumerate(colours.items()):
            one = data[(data["mode"] == mode) & (data.setting == setting)]
            if one.empty:
                continue
            shift = 0.7 * ((place + 0.5) / len(colours) - 0.5)
            points = [
                (names.index(row.workload), row.speedup, row.low, row.high)
                for row in one.itertuples()
            ]
            whiskers(axis, points, shift, colour, "o")
            mean = geometric_mean(one.speedup)
            means += [mean.low, mean.high]
            whiskers(axis, [(len(names) - 1, mean.value, mean.low, mean.high)], shift, colour, "D")
            if promised[setting]:
                axis.axvline(promised[setting], color=colour, linewidth=1, linestyle="--", zorder=0)
        axis.axvline(1, color=style.INK, linewidth=1)
        axis.axhline(len(names) - 1.5, color=style.INK, alpha=0.3, linewidth=0.8)
        axis.set_yticks(range(len(names)), names)
        axis.set_ylim(len(names) - 0.4, -0.6)
        axis.set_title(MODES[mode])
        axis.set_xlabel(f"times as fast as {comparison.base.letter}")
        axis.spines["left"].set_visible(False)
    promises = [ratio for ratio in promised.values() if ratio]
    ratio_axis(axes[0], [*data[["speedup", "low", "high"]].to_numpy().ravel(), *means, *promises])
    for axis in axes:
        style.grid(axis, "x")
    kinds = [(setting, {"marker": "o", "color": colour}) for setting, colour in colours.items()]
    if any(promised.values()):
        kinds.append(
            (
                "dashed: ratio of the FLOP/s peaks",
                {"marker": "", "linestyle": "--", "color": style.INK},
            )
        )
    marks.marker_key(figure, kinds)


def whiskers(axis, points, shift, colour, marker):
    """Draws points (row, value, low, high) with their intervals, if known."""
    for row, value, low, high in points:
        if low == low:
            axis.plot([low, high], [row + shift] * 2, color=colour, linewidth=1.4)
        axis.plot(value, row + shift, marker, color=colour, markersize=5)
