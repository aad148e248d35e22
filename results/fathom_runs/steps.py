"""Which op rows a workload's step is made of, and how often it calls them."""

CALLS = {"train": "calls_per_model_step", "infer": "calls_per_inference"}  # counter by mode
BACKENDS = ("native", "torch")  # that a step may run


def backend_rank(backend, in_steps):
    """Of an op's rows, a step runs the one of the lowest rank.

    Files of older programs have no `in_steps`. There a step runs our own kernel, if the op has one.
    """
    return -1 if in_steps == 1 else BACKENDS.index(backend)
