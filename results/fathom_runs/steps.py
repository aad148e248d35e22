"""The sum of a step's ops: the time of each op row that the step runs, times its calls per step."""

from collections import Counter

CALLS = {
    "train": "calls_per_model_step",
    "infer": "calls_per_inference",
}  # counter of an op row, by mode


def step_sums(ops):
    """Adds up ops: by key, a Counter of what a step has of each part.

    `ops` are op rows, as mappings, each with what a call has of each part (such as its microseconds) and with a function
    that gives its keys by mode.
    """
    sums = {}
    for row, parts, keys in ops:
        for mode, counter in CALLS.items():
            calls = row.get(counter) or 0
            for key in keys(mode) if calls > 0 else ():
                total = sums.setdefault(key, Counter())
                for part, value in parts.items():
                    total[part] += calls * value
    return sums
