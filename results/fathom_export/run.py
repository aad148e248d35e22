"""What dashboards are told of a run: the name of its machine, its versions and settings."""

import re

from fathom_runs.context import words

# Dashboards show all of them with every graph, so the list is short.
FIELDS = ("fathom_version", "git_commit", "command_line", "host_name", "affinity", "compiler")
FIELDS += ("compiler_flags", "libtorch", "libtorch_mkl", "libtorch_onednn", "onednn")
FIELDS += ("cuda_driver", "cuda_runtime", "cublas", "cudnn", "cuda_environment", "gpu_driver")
FIELDS += ("gpu_persistence", "gpu_mig", "gpu_ecc", "gpu_power_limit_w")
FIELDS += ("gpu_application_clock_mhz", "openmp", "malloc", "fathom_cuda_graph", "fathom_layout")
FIELDS += ("fathom_malloc", "fathom_mkl", "seed", "data", "rom")


def texts(context, keys=FIELDS):
    return {key: words(key, context[key]) for key in keys if key in context}


def hardware(context):
    return str(context.get("cpu") or context.get("host_name") or "unknown")


def machine(context):
    """Name of the machine, its own or from its hardware: hosts of a CI change their names."""
    if context.get("machine_name"):
        return str(context["machine_name"])
    parts = (hardware(context), f"{context.get('num_cpus', '')} CPUs", context.get("gpu"))
    return re.sub(r"[^A-Za-z0-9.]+", "-", " ".join(map(str, filter(None, parts)))).strip("-")
