"""What a file's context says of the run, the machine and its settings."""

from datetime import datetime, timezone

from fathom_runs.source import EXPECTED, RunError

# Runs that differ in one of these are of two machines. Not the host's name: every container has another.
MACHINE = ("cpu", "gpu", "num_cpus")
# Settings and versions that change times without a change of the code.
SETTINGS = ("fathom_version", "libtorch", "libtorch_mkl", "libtorch_onednn", "onednn")
SETTINGS += ("cuda_driver", "cuda_runtime", "cublas", "cudnn", "compiler", "compiler_flags")
SETTINGS += ("cpu_capability", "affinity", "openmp", "malloc", "fathom_malloc", "fathom_mkl")
SETTINGS += ("machine_governor", "machine_turbo", "machine_smt", "machine_cpu_quota")
SETTINGS += ("machine_huge_pages", "seed", "data", "rom", "library_build_type")
SETTINGS += ("cpu_scaling_enabled",)


def date_of(path, context):
    """When the run began; without a zone it is taken as UTC. Throws RunError."""
    text = str(context.get("date", "none"))
    try:
        date = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return date if date.tzinfo else date.replace(tzinfo=timezone.utc)
    except ValueError as error:
        raise RunError(
            f"{path}: date is {text[:40]!r}, expected one as 2026-01-31T12:00:00+00:00, {EXPECTED}"
        ) from error


def same_machine(path, context, other_path, other):
    """Throws RunError where two files are of two machines; the line begins with the first path."""
    for key in MACHINE:
        if context.get(key) != other.get(key):
            raise RunError(
                f"{path}: {key} is {context.get(key, 'none')}, in {other_path} it is "
                f"{other.get(key, 'none')}; expected files of one machine"
            )


def title(context):
    """The machine's name: its GPU and CPU."""
    names = [str(context[key]) for key in ("gpu", "cpu") if context.get(key)]
    return " and ".join(names) or str(context.get("host_name", "Unnamed machine"))


def is_peak(key):
    """Whether an entry is a measured peak."""
    return key.startswith("peak_")


def peaks(context):
    return {key: value for key, value in context.items() if is_peak(key)}
