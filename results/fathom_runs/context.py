"""What a file's context says of the run, the machine and its settings."""

from datetime import datetime, timezone

from fathom_runs.source import EXPECTED, RunError

# Where these differ, runs are of two machines: their times say nothing of the code. Docker names hosts anew.
MACHINE = ("cpu", "gpu", "num_cpus")
# Where these differ, times may differ for another reason than the code.
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
