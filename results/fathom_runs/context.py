"""What a file's context says of the machine and its settings."""

# Where these differ, runs are of two machines: their times say nothing of the code. Docker names hosts anew.
MACHINE = ("cpu", "gpu", "num_cpus")
# Where these differ, times may differ for another reason than the code.
SETTINGS = ("fathom_version", "libtorch", "libtorch_mkl", "libtorch_onednn", "onednn")
SETTINGS += ("cuda_driver", "cuda_runtime", "cublas", "cudnn", "compiler", "compiler_flags")
SETTINGS += ("cpu_capability", "affinity", "openmp", "malloc", "fathom_malloc", "fathom_mkl")
SETTINGS += ("machine_governor", "machine_turbo", "machine_smt", "machine_cpu_quota")
SETTINGS += ("machine_huge_pages", "seed", "data", "rom", "library_build_type")
SETTINGS += ("cpu_scaling_enabled",)
