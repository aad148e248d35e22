"""How much of a step's communication is exposed. results/ranks-model.md explains the model."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Phases:
    """Shares of a step without reduction. The rest is the update."""

    forward: float
    backward: float


ASSUMED = Phases(1 / 3, 2 / 3)


@dataclass(frozen=True)
class Reduction:
    """The reduction of a bucket."""

    ready: float  # share of the backward pass after which all of its gradients are computed
    bandwidth_us: float
    latency_us: float = 0
    taken: float = 0  # share of the rank's computation that it takes while it lasts

    @property
    def us(self):
        return self.bandwidth_us + self.latency_us


@dataclass(frozen=True)
class Exposed:
    """Microseconds by which communication makes a step longer."""

    bandwidth: float
    latency: float
    slowed: float  # the backward pass, by cores that reductions took

    @property
    def us(self):
        return self.bandwidth + self.latency + self.slowed


def all_reduce_us(size, ranks, gbits, latency_us):
    """Time of a ring for `size` bytes: the part of the bandwidth, and the part of the latency."""
    bytes_per_us = gbits * 1e9 / 8 / 1e6
    return 2 * (ranks - 1) / ranks * size / bytes_per_us, 2 * (ranks - 1) * latency_us


def ready_shares(buckets):
    """Gradients are computed at a constant rate, in bytes."""
    done, shares = 0, []
    for size in buckets:
        done += size
        shares.append(done / sum(buckets))
    return shares


def exposed(step_us, phases, reductions):
    """Runs the backward pass beside its reductions, which follow one another."""
    work = phases.backward * step_us
    done = bandwidth = latency = slowed = 0.0  # done: of the work
    for one in reductions:
        done = max(done, one.ready * work)  # meanwhile nothing is reduced
        left, speed = work - done, 1 - one.taken
        beside = one.us if left > one.us * speed else left / speed if left else 0
        done += beside * speed
        slowed += beside * one.taken
        late = 1 - beside / one.us if one.us else 0
        # The exposed part of a reduction has the same mix as the whole.
        bandwidth += late * one.bandwidth_us
        latency += late * one.latency_us
    return Exposed(bandwidth, latency, slowed)
