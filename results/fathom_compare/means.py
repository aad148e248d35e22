"""Geometric means of the speed-ups of steps, by mode and setting."""

import pandas as pd

from fathom_compare.interval import geometric_mean
from fathom_compare.selection import by_setting, ends, in_figures
from fathom_runs.words import factor

MODES = {"train": "training", "infer": "inference"}


def means(comparison):
    """The table of means over the usual steps, one row per mode and setting."""
    rows = []
    for mode, words in MODES.items():
        steps = comparison.steps[comparison.steps["mode"] == mode]
        for setting, one in by_setting(steps):
            mean = geometric_mean(one.speedup)
            least, most = (one.loc[place] for place in (one.speedup.idxmin(), one.speedup.idxmax()))
            rows.append(
                {
                    "mode": words,
                    "setting": setting,
                    "workloads": mean.count,
                    "speedup": mean.value,
                    "low": mean.low,
                    "high": mean.high,
                    "smallest": least.speedup,
                    "smallest_in": least.workload,
                    "largest": most.speedup,
                    "largest_in": most.workload,
                }
            )
    return pd.DataFrame(rows)


def sentences(comparison):
    """The means in words: of each mode, with the fewest and the most threads of each device."""
    table = means(comparison)
    settings = [words for words, _ in ends(in_figures(comparison.steps))]
    return [sentence(comparison, row) for _, row in table.iterrows() if row.setting in settings]


def sentence(comparison, row):
    base, other = comparison.base.letter, comparison.other.letter
    text = f"{row['mode'].capitalize()}, {row.setting}: {other} is {row.speedup:.3g} times as fast as {base}"
    if row.workloads == 1:
        return f"{text} ({row.largest_in})."
    mean = f"geometric mean of {row.workloads} workloads"
    if row.low == row.low:
        mean += f", 95 % interval over workloads {row.low:.3g} to {row.high:.3g}"
    least, most = factor(row.smallest), factor(row.largest)
    spread = f", from {least} ({row.smallest_in}) to {most} ({row.largest_in})"
    return f"{text} ({mean}){spread if least != most else ''}."
