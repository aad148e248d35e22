"""Names and texts of the fields of a context, for pages."""

import re

from fathom_runs.context import caches
from fathom_runs.precisions import place

CARDS = {
    "Machine": {
        "machine_name": "name",
        "cpu": "CPU",
        "cpu_family": "CPU family",
        "cpu_model": "CPU model",
        "cpu_stepping": "CPU stepping",
        "cpu_capability": "vector instructions",
        "num_cpus": "CPUs",
        "affinity": "affinity",
        "mhz_per_cpu": "MHz",
        "caches": "caches",
        "cpu_scaling_enabled": "frequency scaling",
        "machine_governor": "governor",
        "machine_turbo": "turbo",
        "machine_cores": "kinds of cores",
        "machine_smt": "CPUs per core (SMT)",
        "machine_cpu_quota": "CPU quota",
        "machine_huge_pages": "huge pages",
        "machine_others": "used by other processes",
        "machine_steal": "taken by the hypervisor",
        "gpu": "GPU",
        "gpu_memory_bytes": "GPU memory, bytes",
        "machine_gpu_clock": "GPU clock",
        "gpu_application_clock_mhz": "GPU application clock, MHz",
        "gpu_power_limit_w": "GPU power limit, W",
        "gpu_persistence": "GPU persistence mode",
        "gpu_mig": "GPU instances (MIG)",
        "gpu_ecc": "GPU error correction (ECC)",
        "host_name": "host",
    },
    "Versions": {
        "fathom_version": "fathom_bench",
        "git_commit": "commit",
        "build_id": "build with local changes",
        "libtorch": "LibTorch",
        "libtorch_mkl": "MKL in LibTorch",
        "libtorch_onednn": "oneDNN in LibTorch",
        "onednn": "oneDNN",
        "gpu_driver": "NVIDIA driver",
        "cuda_driver": "CUDA driver",
        "cuda_runtime": "CUDA runtime",
        "cublas": "cuBLAS",
        "cudnn": "cuDNN",
        "compiler": "compiler",
        "compiler_flags": "flags",
        "libraries": "builds of libraries",
    },
    "Settings": {
        "data": "data",
        "rom": "game",
        "seed": "seed",
        "openmp": "OpenMP",
        "malloc": "malloc",
        "allocator": "library of malloc",
        "environment": "environment of libraries",
        "cuda_environment": "CUDA's environment",
        "fathom_bucket_mb": "--fathom_bucket_mb",
        "fathom_cuda_graph": "--fathom_cuda_graph",
        "fathom_kernel_choice": "--fathom_kernel_choice, hash",
        "fathom_kernels": "--fathom_kernels, hash",
        "fathom_onednn": "--fathom_onednn, hash",
        "fathom_layout": "--fathom_layout",
        "fathom_malloc": "--fathom_malloc",
        "fathom_mkl": "--fathom_mkl",
        "fathom_replay": "--fathom_replay",
        "fathom_shapes": "--fathom_shapes, hash",
        "ranks": "ranks",
        "hosts": "hosts of the ranks",
        "launcher": "launcher of the ranks",
    },
}


def text(key, value):
    try:
        if key == "caches":
            return caches(value)
    except (KeyError, TypeError):
        return ""  # a future Google Benchmark may write other fields
    if key == "git_commit":
        return re.sub(r"^(\w{12})\w+", r"\1", str(value))
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def peaks(context):
    """Pairs of name and value of each measured peak, by device and threads."""
    found = []
    for key, value in context.items():
        parts = re.fullmatch(r"peak_(flops|bytes)_(\w+?)_threads(\d+)(?:_(\w+))?", key)
        if parts:
            what, device, threads, precision = parts.groups()
            count = f"{threads} thread{'s' * (threads != '1')}" if device == "cpu" else None
            what = precision if what == "flops" else "memory"
            name = ", ".join(filter(None, (device, count, what)))
            found.append(((device, int(threads), place(what)), name, str(value)))
    return [(name, value) for _, name, value in sorted(found)]
