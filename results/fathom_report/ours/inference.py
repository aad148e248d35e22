"""Prompts and decoding steps of language models: tokens per second beside what the machine's peaks allow."""

import numpy as np
import pandas as pd

from fathom_page import marks, palette, style
from fathom_page.figure import Figure, Missing
from fathom_report.ours import decoding
from fathom_report.selection import SETTING, one_setting
from fathom_runs.names import CONTEXT
from fathom_runs.peaks import roof as roof_of
from fathom_runs.words import of_peak, plural

NAME = ("ours-8", "Roofline of language models' inference", "fathom_bench")
FIELDS = ["context_tokens", "flops_per_step", "params"]
WEIGHT_BYTES = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2}
PROMPT, DECODING = "prompt", "decoding"
STEPS = "the peaks, and prompts of several lengths or decoding steps of several batch sizes"


def figure(run):
    found = points(run)
    if found is None:
        return Missing(*NAME, f"{STEPS}: {decoding.needs(run, '64,256,512')}")
    data, words = found
    return Figure(*NAME, sentence(data, words), data, lambda figure: draw(figure, data))


def points(run):
    """Steps of language models' inference with the tokens per second that the peaks allow, and their setting."""
    if not set(FIELDS) <= set(run.steps.columns):
        return None
    steps = run.steps.reindex(
        columns=[*run.steps.columns, *({"weight_bytes", "cache_bytes"} - set(run.steps.columns))]
    )
    numbers = steps[[*FIELDS, "weight_bytes", "cache_bytes"]].apply(pd.to_numeric, errors="coerce")
    steps = steps.assign(**numbers)
    steps = steps[numbers[FIELDS].notna().all(axis=1) & (steps["mode"] == "infer")]
    steps = steps[steps.precision.isin(list(WEIGHT_BYTES))]
    if steps.empty:
        return None
    steps, words = one_setting(steps, threads=max)
    roof = roof_of(run.context, *steps.iloc[0][SETTING])
    if roof is None:
        return None
    decodes = steps.weight_bytes.notna()
    whole = steps.params * steps.precision.map(WEIGHT_BYTES)
    size = (steps.weight_bytes + steps.cache_bytes).where(decodes, whole)
    arithmetic, memory = steps.flops_per_step / roof.flops, size / roof.bytes
    tokens = steps.batch * steps.context_tokens.where(~decodes, 1)
    data = pd.DataFrame(
        {
            "workload": steps.workload.str.partition(CONTEXT)[0],
            "kind": np.where(decodes, DECODING, PROMPT),
            "batch": steps.batch,
            "context_tokens": steps.context_tokens.astype(int),
            "tokens": tokens.astype(int),
            "flops_per_byte": steps.flops_per_step / size,
            "bound": np.where(arithmetic > memory, "FLOP/s", "bytes"),
            "tokens_per_second": tokens / steps.us * 1e6,
            "roof_tokens_per_second": tokens / np.maximum(arithmetic, memory),
        }
    )
    data["pct_of_roof"] = 100 * data.tokens_per_second / data.roof_tokens_per_second
    lines = data.groupby(line_of(data)).tokens.transform("nunique")
    data = data[lines > 1].sort_values(["kind", "workload", "context_tokens", "tokens"])
    return None if data.empty else (data.reset_index(drop=True), words)


def line_of(data):
    """The keys of a line: prompts over their tokens, decoding steps over the batch at one context."""
    context = data.context_tokens.where(data.kind == DECODING, 0)
    batch = data.batch.where(data.kind == PROMPT, 0)
    return [data.kind, data.workload, context, batch]


def lines(data):
    """Yields (kind, name, rows) of each line."""
    for (kind, workload, context, batch), one in data.groupby(line_of(data), sort=False):
        yield kind, f"{workload}, {f'batch {batch}' if kind == PROMPT else f'{context} tokens'}", one


def sentence(data, words):
    parts = []
    for kind, name, one in lines(data):
        first, last = one.iloc[0], one.iloc[-1]
        unit = "token" if kind == PROMPT else "sequence"
        parts.append(
            f"{name}: {of_peak(first.pct_of_roof)} with {plural(first.tokens, unit)} (bound by "
            f"{first.bound}), {of_peak(last.pct_of_roof)} with {last.tokens} ({last.bound})"
        )
    return (
        "Share of the tokens per second that the measured peaks of FLOP/s and memory allow. "
        f"{'; '.join(parts[:4])}{f'; and {len(parts) - 4} others' if len(parts) > 4 else ''}. Setting: {words}."
    )


def draw(figure, data):
    """A panel for each network's prompts or decoding steps, a colour for each context of the cache."""
    contexts = sorted(data.context_tokens[data.kind == DECODING].unique())
    colours = palette.line_colours(contexts)
    parts = list(data.groupby(["kind", "workload"], sort=False))
    for axis, ((kind, workload), rows) in zip(style.panels(figure, len(parts), columns=3), parts):
        for _, _, one in lines(rows):
            colour = colours[one.context_tokens.iloc[0]] if kind == DECODING else style.INK
            axis.plot(one.tokens, one.roof_tokens_per_second, color=colour, linewidth=1)
            axis.plot(one.tokens, one.tokens_per_second, "o", color=colour, markersize=4)
        style.plain_log(axis, "y")
        style.count_axis(axis, rows.tokens)
        axis.set_title(workload)
        axis.set_xlabel("tokens of the prompts" if kind == PROMPT else "sequences")
        style.grid(axis)
    figure.supylabel("tokens per second", fontsize=style.SMALL)
    line = {"marker": "", "linestyle": "-", "color": style.INK, "linewidth": 1}
    kinds = [("measured", {"marker": "o", "color": style.INK}), ("what the peaks allow", line)]
    kinds += [
        (f"{context} tokens in the cache", {"marker": "o", "color": colours[context]})
        for context in contexts
    ]
    marks.marker_key(figure, kinds)
