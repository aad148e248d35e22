"""Op rows of a step: the backend that the step runs and the calls per step."""

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
