"""Decoding steps over the tokens in their cache: time of a token, and what the cache adds to the bytes."""

import pandas as pd

from fathom_page import palette, style
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
    left, right = style.axes(figure, 3.4, 1, 2)[0]
    for number, (step, one) in enumerate(data.groupby("step", sort=False)):
        colour = palette.LINE_COLOURS[number % len(palette.LINE_COLOURS)]
        for axis, column in ((left, "decode_ms_per_token"), (right, "cache_pct")):
            axis.plot(one.context_tokens, one[column], color=colour, marker="o", markersize=3)
        end = one.iloc[-1]
        left.text(
            end.context_tokens, end.decode_ms_per_token, f" {step}", color=colour, va="center"
        )
    for axis, words in ((left, "ms for each token"), (right, "% of the bytes in the cache")):
        axis.set_ylim(bottom=0)
        axis.set_xlabel("tokens in the cache")
        axis.set_ylabel(words)
        style.grid(axis)
    left.set_xlim(right=1.8 * data.context_tokens.max())  # room for the names
