"""Runs a function on several ranks: processes of this host, which form a group of c10d's Gloo."""

import os
import sys
import tempfile


def share(cpus, rank, ranks):
    """The CPUs of one rank. As the program shares them out: fixtures/ranks/cpu_shares.cc."""
    count = len(cpus)
    return cpus[count * rank // ranks : count * (rank + 1) // ranks] if count >= ranks else cpus


def be_rank(rank, ranks, store, function, arguments):
    os.sched_setaffinity(0, share(sorted(os.sched_getaffinity(0)), rank, ranks))
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # a host's name need not lead to an address
    import torch

    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=ranks
    )
    function(*arguments)
    torch.distributed.destroy_process_group()
    sys.stdout.flush()
    os._exit(0)  # the interpreter's own end sometimes aborts, while a thread of Gloo still runs


def run_on_ranks(ranks, function, *arguments):
    """Ends with an error as soon as a rank fails."""
    from torch.multiprocessing import spawn

    with tempfile.TemporaryDirectory() as folder:
        spawn(be_rank, (ranks, f"{folder}/store", function, arguments), nprocs=ranks)


def agreed(torch, value):
    """Rank 0's value of a number, on all ranks. Without a group, the value."""
    if not torch.distributed.is_initialized():
        return value
    told = torch.tensor([float(value)], dtype=torch.float64)
    torch.distributed.broadcast(told, 0)
    return told.item()
