"""Op rows of a step: the backend that the step runs and the calls per step."""

from fathom_runs.names import kind, setting, tokens

CALLS = {
    "train": "calls_per_model_step",
    "infer": "calls_per_inference",
}  # counter of an op row, by mode
BACKENDS = ("native", "torch")  # backends that a step can run, best rank first


def backend_rank(backend, in_steps):
    """Rank of an op row. A step runs the backend with the lowest rank.

    Older files have no `in_steps`. Their steps run our own kernel (`native`) if the op has one.
    """
    return -1 if in_steps == 1 else BACKENDS.index(backend)


def step_ops(benchmarks):
    """The op rows that steps run: by setting, then by shape (type, workload, layer, pass), then by cache."""
    ranked = {}
    for one in benchmarks:
        found = tokens(one.name)
        if kind(one.name) == "op" and found["backend"] in BACKENDS:
            rank = backend_rank(found["backend"], one.median("in_steps"))
            key = setting(one.name), tuple(one.name.split("/")[1:5]), found["cache"]
            ranked.setdefault(key, {})[rank] = one
    ops = {}
    for (where, shape, cache), rows in ranked.items():
        ops.setdefault(where, {}).setdefault(shape, {})[cache] = rows[min(rows)]
    return ops
