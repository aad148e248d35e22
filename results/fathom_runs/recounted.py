"""FLOPs of steps that older programs counted by another rule (docs/results.md)."""

import re

from fathom_runs.names import kind, tokens
from fathom_runs.words import listed

SINCE = (0, 1, 1)  # the FLOPs of a step are the sum over its op rows
# By workload, mode and device (None: any): how much less than this sum 0.1.0 counted, in percent.
LESS = {
    ("deepspeech2", "train", "cpu"): "29",
    ("gpt2", "train", None): "1.8",
    ("gpt2", "infer", None): "2.6",
    ("gpt2_1024", "train", None): "6.6",
    ("gpt2_1024", "infer", None): "9.1",
    ("nmt", "train", "cpu"): "up to 0.3",
    ("seq2seq", "train", None): "0.007",
    ("seq2seq", "infer", None): "0.002",
    ("transformer", "train", "cuda"): "0.15",
}


def is_old(context):
    """Whether the file is of fathom_bench before SINCE."""
    parts = re.match(r"(\d+)\.(\d+)\.(\d+)", str(context.get("fathom_version", "")))
    return parts is not None and tuple(map(int, parts.groups())) < SINCE


def less(names):
    """`deepspeech2/train on cpu (29 %)` for each kind of step in `names` that was counted otherwise."""
    found = {}
    for name in names:
        if kind(name) == "step":
            workload, mode, *_ = name.split("/")
            device = tokens(name)["device"]
            for key, words in ((device, f" on {device}"), (None, "")):
                if percent := LESS.get((workload, mode, key)):
                    found[f"{workload}/{mode}{words} ({percent} %)"] = None
    return list(found)


def sentence(contexts, names):
    """A warning if files before SINCE have such steps; None otherwise."""
    if (steps := less(names)) and any(map(is_old, contexts)):
        return (
            "fathom_bench before 0.1.1 counted fewer FLOPs than the ops of a step have: "
            f"{listed(steps)}. In files of these versions, their FLOP/s and shares of the peak are too low by as much."
        )
    return None
