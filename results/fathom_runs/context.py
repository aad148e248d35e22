"""Fields of the context: date, machine, settings and peaks."""

import re
from datetime import datetime, timezone

from fathom_runs.source import EXPECTED, RunError

UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
# Runs of one machine agree in these. The host name is not among them, because it differs between containers.
MACHINE = ("cpu", "gpu", "num_cpus")
# Settings of the GPU and its driver.
GPU_SETTINGS = ("cuda_environment", "gpu_driver", "gpu_persistence", "gpu_mig", "gpu_ecc")
GPU_SETTINGS += ("gpu_power_limit_w", "gpu_application_clock_mhz")
# Settings and versions that can change times while the code stays the same.
SETTINGS = ("fathom_version", "libtorch", "libtorch_mkl", "libtorch_onednn", "onednn")
SETTINGS += ("cuda_driver", "cuda_runtime", "cublas", "cudnn", "compiler", "compiler_flags")
SETTINGS += ("cpu_capability", "affinity", "openmp", "malloc", "fathom_malloc", "fathom_mkl")
SETTINGS += ("fathom_bucket_mb", "fathom_cuda_graph", "fathom_layout", "fathom_replay")
SETTINGS += ("machine_governor", "machine_turbo", "machine_smt", "machine_cpu_quota")
SETTINGS += ("machine_huge_pages", "seed", "data", "rom")
SETTINGS += ("cpu_scaling_enabled", *GPU_SETTINGS)


def date_of(path, context):
    """Start of the run. A date without time zone is read as UTC. Raises RunError."""
    text = str(context.get("date", "none"))
    try:
        date = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return date if date.tzinfo else date.replace(tzinfo=timezone.utc)
    except ValueError as error:
        raise RunError(
            f"{path}: date is {text[:40]!r}, expected one like 2026-01-31T12:00:00+00:00, {EXPECTED}"
        ) from error


def same_machine(path, context, other_path, other):
    """Raises RunError if two files are from different machines. The message begins with the first path."""
    for key in MACHINE:
        if context.get(key) != other.get(key):
            raise RunError(
                f"{path}: {key} is {context.get(key, 'none')}, in {other_path} it is "
                f"{other.get(key, 'none')}; expected files of one machine"
            )


def title(context):
    """Name of the machine: its GPU and CPU, or its host name."""
    names = [str(context[key]) for key in ("gpu", "cpu") if context.get(key)]
    return " and ".join(names) or str(context.get("host_name", "Unnamed machine"))


def is_peak(key):
    """Whether a field of the context is a measured peak."""
    return key.startswith("peak_")


def peaks(context):
    """The fields of the context that are measured peaks."""
    return {key: value for key, value in context.items() if is_peak(key)}


def rate(text):
    """Parses the rate of a peak, such as `118.2 GFLOP/s, oneDNN GEMM`. None if it has another form."""
    found = re.match(r"([\d.e+]+) ([kMGT]?)(?:FLOP|B)/s", str(text))
    return float(found[1]) * UNITS[found[2]] if found else None
