"""Tables of all rows that both sides have."""

import pandas as pd

from fathom_compare import interval, op_types, roofs
from fathom_compare.headroom import at_the_roof
from fathom_compare.means import MODES, means, op_means
from fathom_compare.selection import setting_words

SPEED = ["base_us", "other_us", "speedup", "low", "high", "change_pct"]
COUNTS = ["base_files", "other_files", "base_repetitions", "other_repetitions"]
PEAKS = ["base_flops_pct_peak", "other_flops_pct_peak", "base_bytes_pct_peak"]
PEAKS += ["other_bytes_pct_peak"]
INTERVAL = (
    f"from, to: {100 * interval.CONFIDENCE:.0f} % interval of the ratio of the medians. If both sides have several files "
    f"of a row, between the files (Welch's t of their medians). {interval.HELD_WORDS} With one file on a side, of the "
    f"repetitions alone (bootstrap); empty with fewer than {interval.MIN_REPETITIONS} repetitions on a side"
)


def tables(comparison):
    """Arguments of the macro `searchable` for each table that has rows."""
    base = comparison.base.letter
    made = [
        (
            "means",
            "Geometric means",
            means(comparison),
            f"Times as fast as {base}, over the workloads at their usual batch sizes, without variants. from, to: 95 % interval over workloads (Student's t of the logarithms).",
        ),
        (
            "steps",
            "Steps",
            steps(comparison),
            f"Medians of all repetitions of all files. {INTERVAL}. change: what compare.py shows as Time, times 100.",
        ),
        (
            "types",
            "Op types in steps",
            op_types.every_setting(comparison),
            f"Summed over the steps of a setting; speed-up, from, to: geometric mean over the steps and its 95 % interval over workloads. Op types below {op_types.MIN_SHARE} % of a step are left out.",
        ),
        (
            "opmeans",
            "Geometric means of ops",
            op_means(comparison),
            f"Times as fast as {base}, over all op rows of a type. Each shape counts once.",
        ),
        (
            "oprows",
            "Ops",
            ops(comparison),
            f"All op rows on both sides. bound: what limits the op by the roofline of the side. {INTERVAL}.",
        ),
    ]
    for key, title, frame, what in made:
        if len(frame):
            lettered = comparison.lettered(frame)
            yield {
                "key": key + comparison.key,
                "title": title,
                "what": what,
                "shown": lettered.drop(columns="name", errors="ignore"),
                "data": lettered,
                "is_open": len(frame) <= 120,
            }


def steps(comparison):
    table = at_the_roof(comparison.steps)
    table = table.assign(setting=words(table), mode=table["mode"].map(MODES))
    columns = ["workload", "mode", "setting", "batch", *SPEED, *PEAKS, "base_roof_us"]
    return table[[*columns, "other_roof_us", *COUNTS, *labels(table), "name"]]


def ops(comparison):
    table = roofs.bounds(comparison)
    table = table.assign(setting=words(table))
    columns = ["type", "workload", "layer", "pass_", "setting", "cache", *SPEED, *PEAKS]
    columns += ["flops_per_byte", "base_bound", "other_bound"]
    return table[[*columns, *COUNTS, *labels(table), "op_class", "name"]]


def words(table):
    return [setting_words(row) for row in table.itertuples()]


def labels(table):
    """The columns of kernels, if the sides chose different ones."""
    both = ["base_label", "other_label"]
    return both if (table[both[0]] != table[both[1]]).any() else []
