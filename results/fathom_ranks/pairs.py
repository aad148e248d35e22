"""Measured steps of several ranks, and what the model says of them from the reductions that were timed alone."""

import pathlib
from dataclasses import dataclass, replace

from fathom_ranks.model import Exposed, Reduction, exposed, ready_shares
from fathom_ranks.rows import Workload, nearest, phases_of, workloads
from fathom_runs.names import kind, tokens
from fathom_runs.source import RunError, unpacked


@dataclass(frozen=True)
class Network:
    """The reductions of one file with a number of ranks, timed alone."""

    file: str
    ranks: int
    cores: int  # of a rank
    alone: dict[
        str, dict[str, tuple]
    ]  # by workload and bucket: bytes, µs, and cores that were busy

    @property
    def sums(self):
        """Bytes, µs, and µs of CPU time of all reductions."""
        every = [row for found in self.alone.values() for row in found.values()]
        return [sum(column) for column in zip(*((size, us, us * busy) for size, us, busy in every))]

    @property
    def bytes_per_us(self):
        return self.sums[0] / self.sums[1]

    @property
    def busy(self):
        return self.sums[2] / self.sums[1]

    def reductions(self, workload, is_slowing=True):
        """Those of the workload's buckets. A bucket without a row takes as long as others, per byte."""
        rows, made = self.alone.get(workload.name, {}), []
        for index, (size, ready) in enumerate(
            zip(workload.buckets, ready_shares(workload.buckets))
        ):
            known = rows.get(f"bucket{index}") if workload.has_sizes else None
            us, busy = known[1:] if known else (size / self.bytes_per_us, self.busy)
            taken = self.taken(busy, workload.threads) if is_slowing else 0
            made.append(Reduction(ready, us, taken=taken))
        return made

    def taken(self, busy, threads):
        """The share of the computation of `threads` cores that a reduction takes, which keeps `busy` cores busy."""
        free = max(self.cores - threads, 0)
        return min(max(busy - free, 0) / threads, 1)


@dataclass(frozen=True)
class Pair:
    """A measured step of several ranks."""

    network: Network
    workload: Workload
    exposed_us: float  # measured
    beside: Exposed  # predicted
    alone: Exposed  # predicted, if reductions took no core

    @property
    def error(self):
        return self.beside.us / self.exposed_us - 1

    @property
    def error_alone(self):
        return self.alone.us / self.exposed_us - 1


def predicted(network, workload, is_slowing=True):
    reductions = network.reductions(workload, is_slowing)
    return exposed(workload.step_us, workload.phases, reductions)


def pairs(path, run, profiled):
    """The networks of a file, one for each number of ranks, and its steps of several ranks. Raises RunError."""
    found = [one for one in workloads(path, run.measured, profiled) if one.ranks > 1]
    networks = {ranks: network(path, run, ranks) for ranks in {one.ranks for one in found}}
    if not found:
        raise RunError(f"{path}: no training step of two ranks or more, expected --fathom_ranks=2")
    made = []
    for one in found:
        its, us = networks[one.ranks], one.row.median("exposed_us")
        if not us:
            raise RunError(
                f"{path}: {one.row.name} has no exposed_us, expected that of a step with ranks"
            )
        made.append(Pair(its, one, us, predicted(its, one), predicted(its, one, False)))
    return list(networks.values()), made


def others(found, profiled, network, threads):
    """The workloads without rows on a network, with the profiled steps of these threads in place of their own."""
    for one in found:
        name = one.row.name.replace(f"/threads:{one.threads}/", f"/threads:{threads}/")
        near = nearest(name, [row for rows in profiled.values() for row in rows])
        if near and one.name not in network.alone and tokens(near.name)["threads"] == str(threads):
            batch = tokens(near.name)["batch"]
            known = {"batch": batch, "threads": threads, "ranks": network.ranks, "step_us": near.us}
            yield replace(one, **known, phases=phases_of(near), has_phases=True)


def network(path, run, ranks):
    """Raises RunError if no reduction with this number of ranks was timed alone."""
    alone = {}
    for one in run.measured:
        parts = one.name.split("/")
        if (
            kind(one.name) == "op"
            and parts[1] == "all_reduce"
            and parts[3] != "gradients"
            and tokens(one.name).get("ranks") == str(ranks)
        ):
            size = (one.median("algbw") or 0) * one.us / 1e6
            alone.setdefault(parts[2], {})[parts[3]] = size, one.us, one.cpu_us / one.us
    if not alone:
        raise RunError(
            f"{path}: no row op/all_reduce/<workload>/bucket<i>/... with ranks:{ranks}, expected the reductions timed alone"
        )
    return Network(unpacked(pathlib.Path(path)).stem, ranks, cores(run.context, ranks), alone)


def cores(context, ranks):
    """Cores of a rank: those of rank 0's affinity, of which the ranks of a host have equal shares."""
    allowed = sum(
        int(last or first) - int(first) + 1
        for first, _, last in (
            part.partition("-") for part in str(context.get("affinity", "")).split(",")
        )
        if first.isdecimal() and (last or first).isdecimal()
    )
    hosts = str(context.get("hosts", "1"))
    return max(allowed * (int(hosts) if hosts.isdecimal() else 1) // ranks, 1)
