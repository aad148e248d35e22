"""What is left between steps and the roof on both sides."""

import numpy as np

from fathom_compare.interval import geometric_mean
from fathom_compare.means import MODES
from fathom_compare.selection import SETTING, last_setting
from fathom_compare.shares import SIDES, needs, side_key
from fathom_page import palette, style
from fathom_page.figure import Figure, Missing
from fathom_runs.catalogue import FRAMEWORK
from fathom_runs.words import listed, of_peak, percent, time_words

NAME = ("Time of steps at the roof", "fathom_bench")
# Classes of op types whose FLOPs a step's share of the peak counts. A step with less of its time in them is bound by other
# things, such as launches, and cannot come near the roof.
COUNTED, MIN_COUNTED = ("matrix", "convolution"), 50  # percent of the step, on both sides
STEP = ["workload", "mode", "batch", *SETTING]
MAX_NAMES = 4


def figure(comparison):
    name = (f"headroom{comparison.key}", *NAME)
    steps = with_counted(at_the_roof(comparison.steps), comparison.op_types)
    found = last_setting(steps[steps.base_roof_us.notna() & steps.other_roof_us.notna()])
    if found is None:
        return Missing(*name, needs(comparison))
    words, rows = found
    times = [f"{side}_{rest}" for side in SIDES for rest in ("us", "roof_us", "roof_pct")]
    bytes_known = rows[[f"{side}_bytes_pct_peak" for side in SIDES]].notna().all(axis=1)
    data = rows[["workload", "mode", "batch", *times, "counted_pct"]]
    data = data.assign(can_reach=bytes_known | (rows.counted_pct >= MIN_COUNTED)).reset_index(
        drop=True
    )
    return Figure(
        *name,
        sentence(data, words, comparison),
        comparison.lettered(data),
        lambda figure: draw(figure, data, comparison),
    )


def at_the_roof(steps):
    """The steps, with the time of each at the measured peak that limits it, and that as a share of the time now.

    A step's FLOPs are known; bytes only where the row has bytes_pct_peak (decoding).
    """
    made = {}
    for side in SIDES:
        shares = steps[[f"{side}_{rate}_pct_peak" for rate in ("flops", "bytes")]].max(axis=1)
        shares = shares.where(shares > 0)
        made |= {f"{side}_roof_pct": shares, f"{side}_roof_us": steps[f"{side}_us"] * shares / 100}
    return steps.assign(**made)


def with_counted(steps, op_types):
    """The steps, with the percent of each that its ops of COUNTED take, on the side with less. NaN without op types."""
    shares = [f"{side}_pct_of_step" for side in SIDES]
    types = op_types.assign(
        **{one: op_types[one].where(op_types.op_class.isin(COUNTED), 0) for one in shares}
    )
    sums = types.groupby(STEP, dropna=False)[shares].sum().min(axis=1).rename("counted_pct")
    return steps.merge(sums.reset_index(), "left", STEP)


def sentence(data, words, comparison):
    """What is left, over the steps that can come near the roof, and which steps those are not."""
    parts, counted = [], data[data.can_reach]
    for side in SIDES if len(counted) else ():
        letter = getattr(comparison, side).letter
        mean = geometric_mean(counted[f"{side}_roof_pct"])
        if mean.value > 100:
            parts.append(
                f"On {letter}, steps reach {of_peak(mean.value)} of the measured peak (geometric mean), so it is too low to "
                "say what is left"
            )
            continue
        parts.append(
            f"At the measured peak, a step on {letter} would take {percent(mean.value)} of its time, so up to "
            f"{100 / mean.value:.3g} times the speed is left (geometric mean)"
        )
        lost = counted[f"{side}_us"] - counted[f"{side}_roof_us"]
        row = counted.loc[lost.idxmax()]
        if lost.max() > 0:
            parts[-1] += f", most time in {row.workload}/{row['mode']}: {time_words(lost.max())}"
    without = data[~data.can_reach]
    for rows, why in (
        (
            without[without.counted_pct.notna()],
            f"cannot come near the peak, with less than {MIN_COUNTED} % of their time in matrix products and convolutions, "
            "whose FLOPs it counts",
        ),
        (
            without[without.counted_pct.isna()],
            "are not profiled (--fathom_profile), so whether they can come near the peak is not known",
        ),
    ):
        if len(rows):
            names = listed(rows.workload + "/" + rows["mode"], MAX_NAMES)
            parts.append(f"Not counted are steps that {why}: {names}")
    return f"{'. '.join(parts)}. Setting: {words}."


def draw(figure, data, comparison):
    modes = [mode for mode in MODES if (data["mode"] == mode).any()]
    names = list(dict.fromkeys(data.workload))
    axes = style.axes(figure, 1.6 + 0.38 * len(names), 1, len(modes), sharex=True, sharey=True)[0]
    for axis, mode in zip(axes, modes):
        rows = data[data["mode"] == mode]
        y = np.array([names.index(name) for name in rows.workload])
        for side, shift in zip(SIDES, (-0.19, 0.19)):
            for part, alpha in (("us", 0.35), ("roof_us", 1)):
                width = 100 * rows[f"{side}_{part}"] / rows.base_us
                axis.barh(y + shift, width, 0.34, color=style.faded(SIDES[side], alpha))
        axis.axvline(100, color=style.INK, linewidth=1)
        axis.set_title(MODES[mode])
        axis.set_xlabel(f"% of the time on {comparison.base.letter}")
        style.grid(axis, "x")
        axis.spines["left"].set_visible(False)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    solid = {"marker": "s", "color": palette.class_colour(FRAMEWORK)}
    side_key(figure, comparison, "s", [("solid: at the measured peak", solid)])
