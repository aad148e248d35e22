"""The page of the rank model, in Markdown."""

from fathom_ranks.model import Reduction, all_reduce_us, exposed, ready_shares
from fathom_ranks.pairs import others, predicted
from fathom_runs.context import described
from fathom_runs.markdown import plain, table
from fathom_runs.source import unpacked
from fathom_runs.words import listed

RANKS = (8, 64, 1024)
FACTS = {"num_cpus": "CPUs:", "date": "date", "git_commit": "commit"}  # of the context
ENOUGH = 90  # percent; from this efficiency on, computation limits

PAGE = """\
# What limits training on many ranks

These are predictions. They start from the steps and buckets of [rows with ranks](../docs/ranks.md).
Machine: {source}. Such a file and this page come from

```
./fathom_bench --fathom_ranks=1 --benchmark_filter='/train/.*ranks:|all_reduce.*bucket' --benchmark_out={file}
results/predict {command} > results/ranks-model.md
```

## The model

- **Step.** The time of a step without reduction is `local_step_us`, of rows with {measured}.
  The batch of a rank stays the same, so n ranks train n times as many samples per step.
- **Phases.** The shares of forward pass, backward pass and update are those of a step that was [profiled](../docs/profile.md) alone, with
  the nearest batch{phases}. Without one ("assumed phases"), the backward pass is the last 2/3 of the step.
- **Buckets.** DistributedDataParallel reduces gradients in buckets (Li et al.: *PyTorch Distributed*, VLDB 2020).
  The op rows `bucket<i>` give their sizes. Without such rows that add up to the step's gradients ("assumed buckets"), the first
  bucket has at most 1 MiB and the others are equal. Gradients are computed at a constant rate, in bytes, over the backward
  pass. A bucket is ready when all of its gradients are computed. Buckets are reduced one after another.
- **Reduction.** A ring (Patarasuk and Yuan: *Bandwidth optimal all-reduce algorithms for clusters of workstations*, JPDC 2009)
  reduces s bytes over n ranks in 2 (n - 1) / n · s / bandwidth + 2 (n - 1) · latency.
- **Networks.** Each rank has a connection of its own. The latencies are assumed:
  {latencies}.
- **Exposed time.** What communication adds to the step: the reductions that are left when the backward pass ends and, where
  reductions take cores from the computation, what this adds to the backward pass.
- **Efficiency.** step / (step + exposed time), in percent.
- **Limit.** `compute` from {enough} % on. Below, the larger part of the exposed time: `bandwidth` or `latency`.

**The tables of 8 ranks and more are upper bounds**: they take no core from the computation. {bounds}
They also leave out the additions of the reduction, waiting for slow ranks, and other traffic. A step with several backward
passes counts as one with a single pass, and sparse gradients count as dense ones of the same bytes.
"""

PAIRS = """
## Beside what was measured

Each step of several ranks that was recorded with its reductions timed alone (rows `op/all_reduce/<workload>/bucket<i>`). A
reduction takes as long as alone, and the share of a core that its `cpu_time` was of its time then. This share is taken from the
computation if the rank has no other core. Nothing is fitted to the step: its own times are `local_step_us` and, to compare,
`exposed_us`. "alone" is the same without the share, as in the tables of many ranks.

"""
LEFT_OUT = """
What is left is what the model leaves out: communication and computation slow each other by more than the cores that they
take (caches, memory, switches between threads), gradients are not ready at a constant rate, and ranks wait for each other.
"""
AHEAD = """
### Other workloads on the network of {file}

The same model. A reduction takes as long per byte as those of {known}, which are {rate} MB/s, and keeps {busy:.2f} cores busy. Local
steps are those of the profiled steps. Each row is a prediction to be checked by a recording.

"""


def page(path, context, found, networks, profiled, measured):
    """`found` are the workloads of `path`, `profiled` and `measured` pairs of a path and what was read from it."""
    facts = [described(context)]
    facts += [f"{words} {str(context[key])[:10]}" for key, words in FACTS.items() if key in context]
    text = PAGE.format(
        source=", ".join(facts),
        file=unpacked(path).name,
        command=" ".join(command(path, profiled, measured)),
        phases=f", in {listed(unpacked(one).name for one in profiled)}" if profiled else "",
        measured=listed(
            dict.fromkeys(f"`threads:{one.threads}/ranks:{one.ranks}`" for one in found)
        ),
        latencies=listed(f"{us:g} µs at {gbits} Gb/s" for gbits, us in networks.items()),
        enough=ENOUGH,
        bounds=bounds([pair for _, pairs in measured.values() for pair in pairs]),
    )
    if measured:
        text += PAIRS + beside(measured) + LEFT_OUT
        for one in measured.values():
            text += "".join(not_measured(found, profiled, *one))
    return text + "".join(section(found, ranks, networks) for ranks in RANKS)


def command(path, profiled, measured):
    yield f"{unpacked(path).name} --ranks"
    for option, paths in (("--phases", profiled), ("--measured", measured)):
        if paths:
            yield " ".join([option, *(unpacked(one).name for one in paths)])


def bounds(pairs):
    if not pairs:
        return "How far this is from measured steps is not known here: `--measured` names files with steps of several ranks."
    off = listed(
        dict.fromkeys(f"{100 * pair.error_alone:+.0f} % in `{pair.network.file}`" for pair in pairs)
    )
    return f"[On the measured pairs](#beside-what-was-measured), the exposed time without this is off by {off}."


def efficiency(step_us, exposed_us):
    return 100 * step_us / (step_us + exposed_us)


def beside(measured):
    """The table of the pairs, with the errors of the model."""
    heads = [
        "file",
        "step",
        "local step, ms",
        "exposed, ms",
        "predicted",
        "error",
        "alone",
        "error of it",
    ]
    heads += ["efficiency, %", "predicted %"]
    rows = []
    for _, pairs in measured.values():
        for pair in pairs:
            one = pair.workload
            rows.append(
                [
                    pair.network.file,
                    f"{one.words}, `threads:{one.threads}/ranks:{one.ranks}`",
                    *(number(us / 1e3) for us in (one.step_us, pair.exposed_us, pair.beside.us)),
                    f"{100 * pair.error:+.0f} %",
                    number(pair.alone.us / 1e3),
                    f"{100 * pair.error_alone:+.0f} %",
                    *(
                        f"{efficiency(one.step_us, us):.3g}"
                        for us in (pair.exposed_us, pair.beside.us)
                    ),
                ]
            )
    return table(heads, rows, heads[2:])


def not_measured(found, profiled, networks, pairs):
    """The tables of the workloads that a file does not have, as far as their steps were profiled."""
    for network in networks:
        threads = pairs[0].workload.threads
        rows = []
        for one in others(found, profiled, network, threads):
            late = predicted(network, one)
            cells = [
                sum(one.buckets) / 1e6,
                one.step_us / 1e3,
                late.us / 1e3,
                efficiency(one.step_us, late.us),
            ]
            name = f"{one.words}, `threads:{threads}/ranks:{network.ranks}`"
            rows.append([name, *map(number, cells)])
        if rows:
            heads = ["step", "gradients, MB", "local step, ms", "exposed, ms", "efficiency, %"]
            text = AHEAD.format(
                file=f"`{network.file}`",
                known=listed(network.alone),
                rate=number(network.bytes_per_us),
                busy=network.busy,
            )
            yield text + table(heads, rows, heads[1:])


def section(found, ranks, networks):
    """The table of a number of ranks."""
    heads = ["workload", "gradients, MB", "local step, ms", *(f"{one} Gb/s" for one in networks)]
    rows = []
    for one in found:
        sizes = [number(sum(one.buckets) / 1e6), number(one.step_us / 1e3)]
        rows.append(
            [
                plain(one.words),
                *sizes,
                *(cell(one, ranks, *network) for network in networks.items()),
            ]
        )
    return f"\n## {ranks:,} ranks\n\n" + table(heads, rows, heads[1:])


def cell(workload, ranks, gbits, latency_us):
    """The efficiency in percent, and what limits it."""
    late = exposed(
        workload.step_us, workload.phases, ring(workload.buckets, ranks, gbits, latency_us)
    )
    found = efficiency(workload.step_us, late.us)
    limit = "bandwidth" if late.bandwidth >= late.latency else "latency"
    return f"{found:.3g} {'compute' if found >= ENOUGH else limit}"


def ring(buckets, ranks, gbits, latency_us):
    return [
        Reduction(ready, *all_reduce_us(size, ranks, gbits, latency_us))
        for size, ready in zip(buckets, ready_shares(buckets))
    ]


def number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
