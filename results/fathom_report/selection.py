"""Selects the rows of figures."""

import pandas as pd

from fathom_runs.catalogue import FRAMEWORK
from fathom_runs.steps import BACKENDS, CALLS, backend_rank
from fathom_runs.words import plural

PROFILE = "./fathom_bench --fathom_profile --benchmark_out=run.json"
NO_PROFILE = f"op types of training steps: {PROFILE}"


def one_setting(table, threads=min):
    """Rows of one setting, and the setting in words. Prefers the CPU, one thread, fp32 and backend torch.

    `threads` chooses among the thread counts that most workloads have.
    """
    table = table[table.device == preferred(table.device, "cpu")]
    table = table[table.precision == preferred(table.precision, "fp32")]
    table = table[table.backend == preferred(table.backend, "torch")]
    # A thread count that only one workload has would leave out the others.
    having = table.groupby("threads").workload.nunique()
    count = threads(having.index[having == having.max()])
    table = table[table.threads == count]
    return table, setting_words(table.device.iloc[0], count, table.precision.iloc[0])


def preferred(values, wish):
    return wish if (values == wish).any() else values.mode().iloc[0]


def setting_words(device, threads, precision):
    if device == "cpu":
        return f"CPU, {plural(threads, 'thread')}, {precision}"
    return f"GPU, {precision}"


def usual_batch(table, catalogue):
    """For each workload and mode, rows of the most frequent batch size, of several the nearest to the default."""
    if table.empty:
        return table

    def usual(batches):
        counts = batches.value_counts()
        most = counts.index[counts == counts.max()]
        workload, mode = table.loc[batches.index[0], ["workload", "mode"]]
        wish = catalogue.default_batches.get(f"{workload}/{mode}", 0)
        return min(most, key=lambda batch: (abs(batch - wish), batch))

    return table[table.batch == table.groupby(["workload", "mode"]).batch.transform(usual)]


def without_variants(table, catalogue):
    """Rows without variants. If a workload is missing, its first variant replaces it."""
    names = list(dict.fromkeys(table.workload))
    chosen = {catalogue.base(name): name for name in reversed(names)}
    chosen |= {name: name for name in names if name == catalogue.base(name)}
    return table[table.workload.isin(chosen.values())]


def training_types(run):
    """Op types of training steps with one setting, and the setting in words. None without such rows."""
    known = (run.op_types.us > 0) & (run.op_types.pct_of_step >= 0)
    table = run.op_types[(run.op_types["mode"] == "train") & known]
    if table.empty:
        return None, ""
    table, words = one_setting(without_variants(table, run.catalogue))
    return usual_batch(table, run.catalogue), words


def training_ops(run):
    """The same without the time between ops."""
    table, words = training_types(run)
    if table is None:
        return None, ""
    table = framework_as_one(table, ["workload"])
    return table[table.op_class != FRAMEWORK], words


def framework_as_one(table, by):
    """Merges the class framework (time between ops, views, reshapes) into one op type."""
    table = table.assign(type=table.type.where(table.op_class != FRAMEWORK, FRAMEWORK))
    sums = [name for name in ("us", "pct_of_step") if name in table]
    return table.groupby([*by, "type", "op_class"], sort=False)[sums].sum().reset_index()


SHAPE = ["type", "workload", "layer", "pass_", "device", "threads", "precision"]


def step_backend_rows(ops, cache="hot"):
    """For each op shape, the row of the backend that steps run."""
    table = ops[(ops.cache == cache) & ops.backend.isin(BACKENDS)]
    ranks = [backend_rank(*row) for row in zip(table.backend, table.in_steps)]
    return table.assign(rank=ranks).sort_values("rank", kind="stable").drop_duplicates(SHAPE)


def calls(ops, mode):
    """Calls per step of each op row; 0 if the step does not run it."""
    return pd.to_numeric(ops[CALLS[mode]], errors="coerce").fillna(0)


SETTING = ["device", "threads", "precision"]


def with_settings_of(table, other):
    """Rows with a setting that the other table has, too."""
    return table[
        pd.MultiIndex.from_frame(table[SETTING]).isin(list(zip(*(other[c] for c in SETTING))))
    ]


def of_setting(table, row):
    """Rows with the device, thread count and precision of `row`."""
    return table[(table[SETTING] == row[SETTING]).all(axis=1)]
