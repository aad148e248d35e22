"""Selects the rows of figures and of means."""

import pandas as pd

from fathom_runs.names import TORCH
from fathom_runs.precisions import FP32, place
from fathom_runs.words import plural

SETTING = ["device", "threads", "other_threads", "ranks", "precision", "backend"]


def usual(steps, catalogue):
    """A function from a table to its rows of usual batch sizes that are of no variant, as a mask."""
    workloads = catalogue.without_variants(steps.workload)
    batches = {
        group: catalogue.usual_batch(*group, one)
        for group, one in steps.groupby(["workload", "mode"]).batch
        if group[0] in workloads
    }

    def is_usual(table):
        rows = zip(table.workload, table["mode"], table.batch)
        known = [batches.get((workload, mode)) == batch for workload, mode, batch in rows]
        return pd.Series(known, table.index, dtype=bool)

    return is_usual


def by_setting(table):
    """Yields the settings of the rows in words, each with its rows: CPUs by threads, then GPUs."""
    ranked = table.assign(precision=table.precision.map(place))
    order = [table.device != "cpu", table.ranks.notna(), *(ranked[key] for key in SETTING[1:])]
    keys = pd.DataFrame(dict(enumerate(order)), table.index)
    table = table.loc[keys.sort_values(list(keys), kind="stable").index]
    for _, rows in table.groupby(SETTING, sort=False, dropna=False):
        yield setting_words(rows.iloc[0]), rows


def in_figures(table):
    """The settings of one precision and backend, without ranks: those that most usual rows have."""
    table = table[table.ranks.isna() & table.usual]
    if table.empty:
        return []
    pairs = table[["precision", "backend"]].apply(tuple, axis=1)
    counts = pairs.value_counts()
    most = next(one for one in pairs if counts[one] == counts.max())
    return list(by_setting(table[pairs == most]))


def ends(settings):
    """Of settings and their rows, those with the fewest and the most threads of each device."""
    by_device = {}
    for words, rows in settings:
        by_device.setdefault(rows.device.iloc[0], []).append((words, rows))
    return [group[place] for group in by_device.values() for place in sorted({0, len(group) - 1})]


def last_setting(table):
    """The setting with the most threads, or of the GPU. None without rows."""
    found = in_figures(table)
    return found[-1] if found else None


def setting_words(row):
    """The setting of a row: device, threads, ranks, precision and backend. Fp32 and torch are not named."""
    parts = ["GPU"]
    if row.device == "cpu":
        parts = ["CPU", plural(row.threads, "thread")]
        if row.threads != row.other_threads:
            parts[1] = f"{row.threads} against {plural(row.other_threads, 'thread')}"
    if not pd.isna(row.ranks):
        parts.append(plural(int(row.ranks), "rank"))
    parts += [row.precision] if row.precision != FP32 else []
    parts += [f"backend {row.backend}"] if row.backend != TORCH else []
    return ", ".join(parts)
