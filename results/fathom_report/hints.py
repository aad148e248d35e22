"""The command that measures rows which a report lacks."""

import itertools

from fathom_page import hints


def command(run, rows, *options, of_counts=True):
    """For the run's workloads and, on CPUs, its thread counts, or else the usual ones. `rows` are filters of fathom_page.hints."""
    tables = (run.steps, run.ops, run.op_types, run.rank_steps, run.rank_ops)
    workloads = list(itertools.chain(*(table.workload for table in tables)))
    options = [*options, *(setting(run, options) if of_counts else ())]
    return hints.command(workloads, run.contexts, rows, *options)


def profile(run):
    """What a figure of op types lacks."""
    return f"op types of training steps: {command(run, [hints.TRAIN], '--fathom_profile')}"


def setting(run, options):
    """The options of the run's device and thread counts, unless an option chooses them."""
    steps = run.steps if len(run.steps) else run.ops
    on_cpu = steps[steps.device == "cpu"]
    if len(steps) and on_cpu.empty:
        return ["--fathom_device=cuda"]
    if len(on_cpu) == 0 or any(
        one.startswith(("--fathom_threads", "--fathom_ranks")) for one in options
    ):
        return []
    counts = ",".join(map(str, sorted(on_cpu.threads.unique())))
    return [f"--fathom_threads={counts}"]
