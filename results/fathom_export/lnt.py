"""A report for LLVM's LNT, in the format that `lnt submit` and `lnt import` read."""

from datetime import timezone

from fathom_export import run
from fathom_runs.context import date_of, identity
from fathom_runs.source import RunError

# Hardware only: LNT refuses a run if a field of a known machine differs. It knows the CPU as "hardware".
MACHINE = ("num_cpus", "cpu_capability", "gpu", "gpu_memory_bytes")
MAX_NAME = 256  # characters of a name in LNT's tables
SUFFIX = "/process_time/real_time"


def document(context, benchmarks, arguments):
    """All repetitions as samples, in microseconds. LNT ignores changes below 0.01 units, so seconds are too coarse."""
    date = utc(arguments.file, context)
    of_run = {"llvm_project_revision": arguments.order or order(context, date)}
    of_run |= {"start_time": date.isoformat(), "end_time": date.isoformat()}
    name = arguments.machine or run.machine(context)
    return {
        "format_version": "2",
        "machine": {"name": name, "hardware": run.hardware(context)}
        | run.texts(context, dict.fromkeys((*MACHINE, *identity(context)))),
        "run": of_run | run.texts(context),
        "tests": [test(arguments.file, benchmark) for benchmark in benchmarks],
    }


def test(path, benchmark):
    name = dotted(benchmark.name)
    if len(name) > MAX_NAME:
        raise RunError(f"{path}: {name} has {len(name)} characters, expected at most {MAX_NAME}")
    memory = benchmark.values("memory_peak_bytes")
    made = {"name": name, "execution_time": benchmark.times_us}
    return made | ({"mem_bytes": memory} if memory else {})


def dotted(name):
    """Replaces slashes: LNT shows only the part after the last one. A dotted name still works as --benchmark_filter."""
    return name.removesuffix(SUFFIX).replace("/", ".")


def utc(path, context):
    """Start of the run in UTC, without time zone: LNT drops time zones."""
    date = date_of(path, context)
    try:
        return date.astimezone(timezone.utc).replace(tzinfo=None, microsecond=0)
    except OverflowError as error:
        raise RunError(
            f"{path}: date is {date}, expected one that can be converted to UTC"
        ) from error


def order(context, date):
    """LNT compares the numbers in an order from left to right: time, then digits of the commit."""
    commit, *dirty = str(context.get("git_commit", "")).split("-")
    return "-".join(filter(None, (f"{date:%Y%m%d%H%M%S}", commit[:12], *dirty)))
