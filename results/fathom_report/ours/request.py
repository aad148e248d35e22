"""A language model's answer to a request: the time to the first token and of the tokens after it."""

import numpy as np
import pandas as pd

from fathom_page import palette, style
from fathom_page.figure import Figure, Missing
from fathom_report.ours import decoding
from fathom_report.selection import one_setting
from fathom_runs.names import CONTEXT
from fathom_runs.words import percent, plural, time_words

NAME = ("ours-9", "Time of a request to a language model", "fathom_bench")
TOKENS = 128  # that a request asks for


def figure(run):
    found = requests(run.steps)
    if found is None:
        words = "a prompt, and decoding steps of the same batch size at two contexts around it"
        return Missing(*NAME, f"{words}: {decoding.needs(run, '512,1024')}")
    data, words = found
    return Figure(*NAME, sentence(data, words), data, lambda figure: draw(figure, data))


def requests(steps):
    """A row for each prompt with the decoding steps after it, and the setting in words. None without such rows."""
    if not {"context_tokens", "decode_ms_per_token"} <= set(steps.columns):
        return None
    steps = steps[pd.to_numeric(steps.context_tokens, errors="coerce").notna()]
    if steps.empty:
        return None
    steps, words = one_setting(steps, threads=max)
    steps = steps.assign(network=steps.workload.str.partition(CONTEXT)[0])
    decodes = steps.decode_ms_per_token.notna()
    generated = steps[steps["mode"] == "generate"]
    rows = []
    for prompt in steps[(steps["mode"] == "infer") & ~decodes].itertuples():
        step = steps[decodes & (steps.network == f"{prompt.network}_decode")]
        step = step[step.batch == prompt.batch].sort_values("context_tokens")
        if len(step) < 2 or not step.context_tokens.min() <= prompt.context_tokens:
            continue
        contexts = prompt.context_tokens + np.arange(TOKENS)
        if contexts[-1] > step.context_tokens.max():
            continue
        token = np.interp(contexts, step.context_tokens, step.us).mean()
        same = (generated.network == prompt.network) & (generated.batch == prompt.batch)
        measured = generated[same & (generated.context_tokens == prompt.context_tokens)].us
        rows.append(
            {
                "workload": prompt.network,
                "batch": prompt.batch,
                "prompt_tokens": int(prompt.context_tokens),
                "first_token_us": prompt.us,
                "token_us": token,
                "composed_us": prompt.us + TOKENS * token,
                "measured_us": measured.iloc[0] if len(measured) else np.nan,
            }
        )
    if not rows:
        return None
    data = pd.DataFrame(rows)
    data["composed_over_measured"] = data.composed_us / data.measured_us
    return data, words


def sentence(data, words):
    parts = [
        f"{one.workload}, {plural(one.batch, 'prompt')} of {one.prompt_tokens} tokens: the first after "
        f"{time_words(one.first_token_us)}, then {time_words(one.token_us)} each"
        for one in data.itertuples()
    ]
    text = (
        f"Time of a request, composed of a prompt's step and decoding steps. {'; '.join(parts[:4])}"
    )
    known = data.dropna(subset="measured_us")
    if not known.empty:
        off = 100 * (known.composed_over_measured - 1)
        worst = off.abs().idxmax()
        text += (
            f". The sum for {TOKENS} tokens is {percent(abs(off[worst]))} {'above' if off[worst] > 0 else 'below'} "
            f"the measured time of {known.workload[worst]}/generate"
        )
        text += ", the largest difference" if len(known) > 1 else ""
    return f"{text}. Setting: {words}."


def draw(figure, data):
    (axis,) = style.axes(figure, 1.2 + 0.5 * len(data))[0]
    first, rest, measured = palette.LINE_COLOURS[:3]
    for place, one in enumerate(data.itertuples()):
        axis.barh(place - 0.18, one.first_token_us / 1e6, 0.34, color=first)
        decoded = (one.composed_us - one.first_token_us) / 1e6
        axis.barh(place - 0.18, decoded, 0.34, left=one.first_token_us / 1e6, color=rest)
        axis.barh(place + 0.18, one.measured_us / 1e6, 0.34, color=style.faded(measured, 0.5))
    labels = ("to the first token", f"{TOKENS} tokens after it", "measured as one step")
    handles = [
        axis.barh(0, 0, color=colour) for colour in (first, rest, style.faded(measured, 0.5))
    ]
    axis.legend(handles, labels, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    names = data.workload + ", batch " + data.batch.astype(str)
    axis.set_yticks(range(len(data)), names + ", " + data.prompt_tokens.astype(str) + " tokens")
    axis.invert_yaxis()
    axis.set_xlabel("seconds")
    style.grid(axis, "x")
