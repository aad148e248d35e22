"""Made-up rows of several ranks: steps and the collectives of their gradients, in two buckets."""

from made_up_networks import BATCH
from made_up_rows import row

LOCAL_US = 10_000  # a step without reduction
EXPOSED_US = 1_000  # per rank
OVERLAPPED_US = 400  # per rank
REDUCTION_US = (250, 750)  # of each bucket, per rank
BUCKETS = (1_000_000, 3_000_000)  # bytes


def step(workload, ranks, threads=1, **counters):
    """A training step. Its mean is 2 % above its median."""
    us = LOCAL_US + EXPOSED_US * ranks
    name = (
        f"{workload}/train/device:cpu/threads:{threads}/ranks:{ranks}/batch:{BATCH[workload]}"
        "/precision:fp32/backend:torch"
    )
    fields = {
        "items_per_second": ranks * BATCH[workload] / us * 1e6,
        "scaling_pct": 100 * (LOCAL_US + EXPOSED_US) / us,
        "p50_us": us,
        "local_step_us": LOCAL_US,
        "exposed_us": us - LOCAL_US,
        "comm_us": 2 * OVERLAPPED_US * ranks,
        "overlapped_us": OVERLAPPED_US * ranks,
        "gradient_bytes": sum(BUCKETS),
        "buckets": len(BUCKETS),
    }
    return row(name, 1.02 * us, **(fields | counters))


def collective(kind, workload, layer, ranks, us, size, backend="gloo"):
    """An op row that moves `size` bytes."""
    name = (
        f"op/{kind}/{workload}/{layer}/update/device:cpu/threads:1/ranks:{ranks}/precision:fp32"
        f"/cache:hot/backend:{backend}"
    )
    return row(name, us, algbw=size / us * 1e6, busbw=size / us * 1e6)


def collectives(workload, ranks):
    sizes = {"gradients": (sum(BUCKETS), sum(REDUCTION_US))}
    sizes |= {f"bucket{n}": pair for n, pair in enumerate(zip(BUCKETS, REDUCTION_US))}
    rows = [
        collective("all_reduce", workload, layer, ranks, ranks * us, size)
        for layer, (size, us) in sizes.items()
    ]
    rows.append(collective("all_gather", workload, "parameters", ranks, 50, sum(BUCKETS)))
    return rows


def rows(workloads, ranks=(1, 2, 4), ops=True):
    """Rows of the workloads with each number of ranks."""
    made = [step(workload, count) for workload in workloads for count in ranks]
    for workload in workloads if ops else ():
        for count in ranks:
            made += collectives(workload, count)
    return made
