"""Geometric means of the speed-ups: of steps by mode and setting, of ops by type, pass, setting and cache."""

import pandas as pd

from fathom_compare.interval import geometric_mean
from fathom_compare.selection import by_setting, ends, in_figures
from fathom_runs.words import factor

MODES = {"train": "training", "infer": "inference", "generate": "generation"}


def means(comparison):
    """The table of means over the usual steps, one row per mode and setting."""
    rows = []
    for mode, words in MODES.items():
        steps = comparison.steps[(comparison.steps["mode"] == mode) & comparison.steps.usual]
        for setting, one in by_setting(steps):
            mean = geometric_mean(one.speedup)
            found = {"mode": words, "setting": setting, "workloads": mean.count}
            found |= {"speedup": mean.value, "low": mean.low, "high": mean.high}
            rows.append(found | range_of(one.speedup, one.workload))
    return pd.DataFrame(rows)


def op_means(comparison):
    """The table of means over the ops of a type, one row per pass, cache and setting."""
    keys, rows = ["type", "pass_", "cache"], []
    for values, ops in comparison.ops.groupby(keys, sort=False):
        for setting, one in by_setting(ops):
            mean = geometric_mean(one.speedup)
            found = dict(zip(keys, values)) | {"setting": setting, "rows": mean.count}
            found |= {"speedup": mean.value}
            rows.append(found | range_of(one.speedup, one.workload + "/" + one.layer))
    return pd.DataFrame(rows)


def range_of(speedups, places):
    """The smallest and the largest speed-up, each with its place."""
    least, most = speedups.idxmin(), speedups.idxmax()
    return {
        "smallest": speedups[least],
        "smallest_in": places[least],
        "largest": speedups[most],
        "largest_in": places[most],
    }


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
