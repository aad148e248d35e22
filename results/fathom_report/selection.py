"""Selects the rows of figures."""

import pandas as pd

from fathom_runs.catalogue import FRAMEWORK
from fathom_runs.names import MODES, TORCH, TORCH_PACKED, step_of
from fathom_runs.precisions import FP32
from fathom_runs.steps import CALLS, step_sums
from fathom_runs.words import plural


def one_setting(table, threads=min):
    """Rows of one setting, and the setting in words. Prefers the CPU, one thread, fp32 and backend torch.

    `threads` chooses among the thread counts that most workloads have.
    """
    table = one_backend(table)
    # A thread count that only one workload has would leave out the others.
    having = table.groupby("threads").workload.nunique()
    count = threads(having.index[having == having.max()])
    table = table[table.threads == count]
    return table, setting_words(table.iloc[0])


def one_backend(table):
    """Rows of one device, precision and backend, with all thread counts. Prefers the CPU, fp32 and backend torch."""
    for column, wish in (("device", "cpu"), ("precision", FP32), ("backend", TORCH)):
        table = table[table[column] == preferred(table[column], wish)]
    return table


def on_torch(table):
    """Rows of backend torch. Steps on other backends run other kernels than the op rows of `step_backend_rows`."""
    return table[table.backend == TORCH]


def preferred(values, wish):
    """The value that is wished for, or the most frequent one."""
    return wish if values.empty or (values == wish).any() else values.mode().iloc[0]


def setting_words(row):
    """The setting of a row in words. Names the backend if it is not torch."""
    device = f"CPU, {plural(row.threads, 'thread')}" if row.device == "cpu" else "GPU"
    backend = "" if row.backend == TORCH else f", backend {row.backend}"
    return f"{device}, {row.precision}{backend}"


def usual_batch(table, catalogue):
    """For each workload and mode, rows of the most frequent batch size, of several the nearest to the default."""
    if table.empty:
        return table

    def usual(batches):
        return catalogue.usual_batch(*table.loc[batches.index[0], ["workload", "mode"]], batches)

    return table[table.batch == table.groupby(["workload", "mode"]).batch.transform(usual)]


def by_workload(steps):
    """The steps, those of one workload together. A resumed run has them in another order."""
    order = {workload: place for place, workload in enumerate(dict.fromkeys(steps.workload))}
    place = steps.workload.map(order) + steps["mode"].map(MODES.index) / len(MODES)
    return steps.loc[place.sort_values(kind="stable").index]


def without_variants(table, catalogue):
    """Rows without variants. If a workload is missing, its first variant replaces it."""
    return table[table.workload.isin(catalogue.without_variants(table.workload))]


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
    """For each op shape, the row of the backend that steps run; if files of two versions differ in it, the last one."""
    table = ops[(ops.cache == cache) & (ops.in_steps == 1)]
    return table.drop_duplicates(SHAPE, keep="last")


def one_setting_of_steps(ops):
    """`one_setting` of rows of `step_backend_rows`. Each shape has one backend there, which is not selected again."""
    table, words = one_setting(ops.assign(backend=TORCH))
    return table.assign(backend=ops.backend), words


def hot_rows(ops):
    """Rows with hot buffers, of every backend that figures compare. `torch_packed` is another route of LibTorch's."""
    return ops[(ops.cache == "hot") & (ops.us > 0) & (ops.backend != TORCH_PACKED)]


def fastest_rows(ops):
    """For each op shape with hot buffers, the row of the fastest backend."""
    table = hot_rows(ops)
    return table.sort_values("us", kind="stable").drop_duplicates(SHAPE)


def calls(ops, mode):
    """Calls per step of each op row; 0 if the step does not run it."""
    return pd.to_numeric(ops[CALLS[mode]], errors="coerce").fillna(0)


def sums(ops, by=("workload", "type", "op_class"), values=("us",)):
    """What the ops of a step add up to: a row by mode and the columns `by`, with the columns `values` of a call."""
    columns = ["mode", *by]
    found = step_sums(
        (row, {one: row[one] for one in values}, lambda mode, row=row: [(mode, *map(row.get, by))])
        for row in ops.fillna({one: 0 for one in values}).to_dict("records")
    )
    rows = [dict(zip(columns, key)) | totals for key, totals in found.items()]
    return pd.DataFrame(rows, columns=[*columns, *values])


def of_step(table, step):
    """Rows of the workload and the mode of a step."""
    return table[(table.workload == step.workload) & (table["mode"] == step["mode"])]


def with_amounts(ops):
    """Op rows with the FLOPs and bytes of a call."""
    amounts = {one: pd.to_numeric(ops[f"{one}s"]) * ops.us / 1e6 for one in ("flop", "byte")}
    return ops.assign(**amounts)


def step_names(op_types):
    """For each op type inside a step, the name of the step."""
    return op_types["name"].map(lambda name: step_of(name)[0])


def without_rows(types, ops):
    """The op types of a step that no row of `ops` has."""
    return types[(types.op_class != FRAMEWORK) & ~types.type.isin(ops.type)]


SETTING = ["device", "threads", "precision"]


def with_settings_of(table, other, columns=SETTING):
    """Rows with a setting (values of `columns`) that the other table has, too."""
    keys = pd.MultiIndex.from_frame(other[columns])
    return table[pd.MultiIndex.from_frame(table[columns]).isin(keys)]


def of_setting(table, row):
    """Rows with the device, thread count and precision of `row`."""
    return table[(table[SETTING] == row[SETTING]).all(axis=1)]
