"""Decoding steps over the tokens in their cache: time of a token, and what the cache adds to the bytes."""

import pandas as pd

from fathom_page import marks, palette, style
from fathom_page.figure import Figure, Missing
from fathom_page.hints import STEPS
from fathom_report.hints import command
from fathom_report.selection import one_setting
from fathom_runs.names import CONTEXT
from fathom_runs.words import listed, plural, time_words

NAME = ("ours-7", "Decoding over the context", "fathom_bench")
MEMORY = 16e9  # of a machine, for the largest batch
FIELDS = ["context_tokens", "decode_ms_per_token", "weight_bytes", "cache_bytes"]


def figure(run):
    found = decoding(run.steps)
    if found is None:
        return Missing(*NAME, f"a decoding step at two contexts: {needs(run, '512,2048,4096')}")
    data, words = found
    return Figure(*NAME, sentence(data, words), data, lambda figure: draw(figure, data))


def needs(run, contexts):
    """How to measure a language model at these contexts."""
    contexts = f"--fathom_context={contexts}"
    if not set(FIELDS) <= set(run.steps.columns):
        return f"rows of a language model with {contexts}"
    return command(run, [STEPS], contexts)


def decoding(steps):
    """The rows of decoding steps that have two contexts or more, and their setting. None without such rows."""
    if not set(FIELDS) <= set(steps.columns):
        return None
    numbers = steps[FIELDS].apply(pd.to_numeric, errors="coerce")
    steps = steps.assign(**numbers)[numbers.notna().all(axis=1)]
    if steps.empty:
        return None
    steps, words = one_setting(steps, threads=max)
    decoder = steps.workload.str.partition(CONTEXT)[0]
    steps = steps.assign(step=[f"{one}, batch {batch}" for one, batch in zip(decoder, steps.batch)])
    steps = steps[steps.groupby("step").context_tokens.transform("nunique") > 1]
    if steps.empty:
        return None
    sizes = steps.weight_bytes + steps.cache_bytes
    data = steps[["step", "batch", *FIELDS]].assign(
        cache_pct=100 * steps.cache_bytes / sizes,
        bytes_per_second=1e3 * sizes / steps.decode_ms_per_token,
        largest_batch=((MEMORY - steps.weight_bytes) / (steps.cache_bytes / steps.batch)).clip(0),
    )
    order = {step: place for place, step in enumerate(dict.fromkeys(data.step))}
    place = data.step.map(order) + data.context_tokens / 1e9
    return data.loc[place.sort_values().index].reset_index(drop=True), words


def sentence(data, words):
    parts = []
    for step, one in data.groupby("step", sort=False):
        first, last = one.iloc[0], one.iloc[-1]
        parts.append(
            f"{step}: {time_words(1e3 * first.decode_ms_per_token)} after "
            f"{plural(int(first.context_tokens), 'token')}, {time_words(1e3 * last.decode_ms_per_token)} after "
            f"{int(last.context_tokens)}; the cache has {first.cache_pct:.0f} and {last.cache_pct:.0f} % of the bytes"
        )
    text = f"Time of a decoding step. {listed(parts, most=3)}"
    largest = data.groupby("step", sort=False).tail(1).largest_batch.astype(int)
    bounds = " to ".join(map(str, sorted({largest.min(), largest.max()})))
    text += f". In {MEMORY / 1e9:.0f} GB, caches of the longest context leave room for batches of "
    return f"{text}{bounds}, without activations. Setting: {words}."


def draw(figure, data):
    """A panel for each decoder, a colour for each batch, with the cache's share of the bytes."""
    batches = sorted(data.batch.unique())
    colours = palette.line_colours(batches)
    decoders = list(data.groupby(data.step.str.partition(", ")[0], sort=False))
    for axis, (decoder, rows) in zip(style.panels(figure, len(decoders)), decoders):
        for batch, one in rows.groupby("batch"):
            axis.plot(one.context_tokens, one.decode_ms_per_token, "o-", color=colours[batch], ms=3)
        axis.set_ylim(0, 1.15 * rows.decode_ms_per_token.max())
        axis.set_xlim(right=1.4 * data.context_tokens.max())  # room for the shares
        ends = rows.groupby("batch").tail(1)
        heights = marks.spread(ends.decode_ms_per_token.to_numpy(), 0.12 * axis.get_ylim()[1])
        for end, height in zip(ends.itertuples(), heights):
            share = f"  cache {end.cache_pct:.0f} %"
            axis.text(end.context_tokens, height, share, color=colours[end.batch], va="center")
        axis.set_title(decoder)
        axis.set_xlabel("tokens in the cache")
        style.grid(axis)
    figure.supylabel("ms for each token", fontsize=style.SMALL)
    kinds = [(f"batch {batch}", {"marker": "o", "color": colours[batch]}) for batch in batches]
    marks.marker_key(figure, kinds, columns=len(kinds))
