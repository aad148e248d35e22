"""Times steps of PyTorch."""

import statistics
import time

import eager_steps
from eager_steps.ranks import agreed

BURST_SECONDS = 0.05  # on a GPU: the host launches the steps of a burst without waiting
LONG_SECONDS = 10  # of a step whose warm-up is one step, and of which three are timed


def prepare(torch, device, precision, threads):
    """Settings of a user who wants fast steps at this precision. Returns a function that makes the step's context."""
    torch.set_num_threads(threads)
    torch.set_default_device(device)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    return lambda: torch.autocast(device, torch.bfloat16, enabled=precision == "bf16")


def use(step, row, mode):
    if not hasattr(step, "use"):
        raise NotImplementedError(f"{row}: not written for mode {mode}, expected eager")
    step.use(mode)


def built(torch, row, mode):
    """The step. Ranks have data of their own, and then the same random numbers."""
    in_group = torch.distributed.is_initialized()
    torch.manual_seed(torch.distributed.get_rank() if in_group else 0)
    step = eager_steps.ROWS[row](torch)
    torch.manual_seed(0)
    if mode == "channels_last":
        use(step, row, mode)
    if in_group:
        step.join_ranks()  # buckets of gradients have the layout of the parameters
    if mode == "compile":
        use(step, row, mode)
    return step


def time_pytorch(row, mode, device, precision, threads):
    """Median milliseconds, the same number of steps on each rank.

    Warms up with three steps, then times at least five bursts and two seconds. Of a long step: one, then three. Two
    steps that compile come before.
    """
    import torch

    context = prepare(torch, device, precision, threads)
    step = built(torch, row, mode)

    def milliseconds(steps):
        begin = time.perf_counter()
        for _ in range(steps):
            with context():
                step()
        if device == "cuda":
            torch.cuda.synchronize()
        return (time.perf_counter() - begin) * 1e3 / steps

    if mode == "compile":
        milliseconds(2)  # it compiles in the first, and in the second for sizes that changed
    long = agreed(torch, milliseconds(1) > LONG_SECONDS * 1e3)
    if not long:
        milliseconds(2)
    steps = 1 if device == "cpu" else max(1, round(BURST_SECONDS * 1e3 / milliseconds(3)))
    times = []
    while not times or agreed(torch, sum(times) * steps < 2000):
        times += [milliseconds(steps) for _ in range(3 if long else 5)]
    return statistics.median(times)


def print_time(*of):
    """On rank 0."""
    import torch

    found = time_pytorch(*of)
    if not torch.distributed.is_initialized() or torch.distributed.get_rank() == 0:
        print(found)
