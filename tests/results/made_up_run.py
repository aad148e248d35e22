"""Made-up runs with known results, in the JSON of fathom_bench."""

import gzip
import json

import made_up_backends
import made_up_ranks

# Tests import the networks and rows from here, too.
from made_up_networks import BATCH, CLASSES, CONTENTION, GROUPS, PROFILES, SERIAL, step_us, type_us
from made_up_rows import REPETITIONS, repeated, row

MODES = ("train", "infer")
CATALOGUE = {  # op types and workloads in the context
    "op_classes": " ".join(
        f"{name}:{op_class}" for name, op_class in CLASSES.items() if op_class != "framework"
    ),
    "default_batches": " ".join(
        f"{workload}/{mode}:{batch}" for workload, batch in BATCH.items() for mode in MODES
    ),
    "variant_of": "vgg_repo:vgg seq2seq_5x10:seq2seq",
}
INFER = 0.25  # time of an inference step / time of the training step
GPU = 0.1  # time on the GPU / time on one CPU thread
CALLS = 4  # calls of each op shape per training step; an op type has two shapes
IN_STEP = 1.25  # time of an op in the step / time of its op row (LibTorch)
BEST = 0.5  # time of the vendor's op row / time of LibTorch's op row
COLD = 1.5  # time with cold buffers / time with hot buffers
PEAK_FLOPS, PEAK_BYTES = 100e9, 20e9  # per second, with one thread
VENDORS = {"conv2d": "onednn", "matmul": "onednn", "softmax": "onednn"}
FLOPS = {"conv2d": 0.6, "matmul": 0.3, "lstm_cell": 0.4}  # shares of the peak in op rows
BYTES = {"relu": 0.8, "mul": 2.5, "momentum": 0.9, "embedding": 0.4, "softmax": 0.2}
INTENSITY = 32  # FLOPs per byte of op types with FLOPs
MEMORY = {"weights": 4e8, "gradients": 4e8, "optimizer": 4e8, "features": 8e8, "inputs": 1e7}
MEMORY |= {"temporaries": 2e7, "workspace": 1e7}  # bytes at Fathom's batch
GROWING = ("features", "inputs", "temporaries")  # grow with the batch


GPU_SETTINGS = ("cuda_environment", "gpu_driver", "gpu_persistence", "gpu_mig", "gpu_ecc")
GPU_SETTINGS += ("gpu_power_limit_w", "gpu_application_clock_mhz")
LISTS = {
    "machine_identity": "caches num_cpus cpu cpu_capability gpu machine_name",
    "settings": "affinity compiler cpu_scaling_enabled data fathom_malloc fathom_mkl fathom_version libtorch "
    "libtorch_mkl machine_governor malloc onednn openmp rom seed " + " ".join(GPU_SETTINGS),
}


def context(threads=(1,), gpu=False, **more):
    """The context. `more` adds or replaces fields."""
    entries = {
        "date": "2026-01-01T00:00:00+00:00",
        "host_name": "made-up",
        "executable": "fathom_bench",
        "num_cpus": 8,
        "mhz_per_cpu": 3000,
        "caches": [{"type": "Unified", "level": 3, "size": 33554432, "num_sharing": 8}],
        "load_avg": [0.1],
        "library_build_type": "release",
        "google_benchmark_build_type": "release",
        "command_line": "fathom_bench --fathom_profile --benchmark_out=run.json",
        "compiler": "made-up compiler",
        "compiler_flags": "-O3",
        "cpu": "Made-up CPU",
        "cpu_capability": "AVX2",
        "affinity": "0-7",
        "fathom_version": "0.1.1",
        "git_commit": "0" * 40,
        "libtorch": "2.11.0",
        "openmp": "default",
        "malloc": "default",
        "fathom_malloc": "stock",
        "fathom_mkl": "stock",
        "seed": "0",
        "data": "synthetic",
        **CATALOGUE,
        **LISTS,
    }
    for count in threads:
        entries[
            f"peak_bytes_cpu_threads{count}"
        ] = f"{PEAK_BYTES * min(count, 4) / 1e9:.4g} GB/s, read"
        entries[
            f"peak_flops_cpu_threads{count}_fp32"
        ] = f"{PEAK_FLOPS * count / 1e9:.4g} GFLOP/s, oneDNN GEMM"
    if gpu:
        entries["gpu"] = "Made-up GPU"
        entries["peak_bytes_cuda_threads1"] = "400 GB/s, copy"
        entries["peak_flops_cuda_threads1_fp32"] = "5000 GFLOP/s, cuBLAS GEMM"
    return entries | more


def step_name(workload, mode="train", device="cpu", threads=1, batch=None, precision="fp32"):
    return (
        f"{workload}/{mode}/device:{device}/threads:{threads}/batch:{batch or BATCH[workload]}"
        f"/precision:{precision}/backend:torch"
    )


def op_name(op_type, workload, layer, backend="torch", cache="hot", passes="forward", threads=1):
    return (
        f"op/{op_type}/{workload}/{layer}/{passes}/device:cpu/threads:{threads}"
        f"/precision:fp32/cache:{cache}/backend:{backend}"
    )


def step(workload, mode="train", device="cpu", threads=1, scale=1, memory=False, profile=True):
    """A step and its op types with `scale` times Fathom's batch. Half of the time does not depend on the batch."""
    batch = int(scale * BATCH[workload])
    factor = (INFER if mode == "infer" else 1) * (GPU if device == "cuda" else 1) * (1 + scale) / 2
    times = {
        op_type: factor * type_us(workload, op_type, threads) for op_type in PROFILES[workload]
    }
    us = sum(times.values())
    peak = 5e12 if device == "cuda" else PEAK_FLOPS * threads
    flops = FLOPS["matmul"] * PEAK_FLOPS * step_us(workload) / 1e6 * scale
    flops *= INFER if mode == "infer" else 1
    fields = {
        "items_per_second": batch / us * 1e6,
        "flops_per_step": flops,
        "flops": flops / us * 1e6,
        "flops_pct_peak": 100 * flops / us * 1e6 / peak,
        "params": 1e6,
        "first_step_us": 2 * us,
        "peak_memory_bytes": 4e9,
    }
    if memory:
        fields |= memory_fields(scale, mode)
    if profile and mode == "train":
        fields |= {"forward_us": 0.3 * us, "backward_us": 0.6 * us, "update_us": 0.1 * us}
    if device == "cuda":
        fields["gpu_busy_pct"] = min(40 + batch, 100)
    name = step_name(workload, mode, device, threads, batch)
    rows = [row(name, us, busy=(1 + threads) / 2, **fields)]
    for op_type, time in times.items() if profile else ():
        share = {"pct_of_step": 100 * time / us}
        calls = {} if op_type == "framework" else {"calls_per_step": 2 * CALLS}
        rows.append(row(f"{name}/op:{op_type}", time, CLASSES[op_type], **share, **calls))
    return rows


GROWTH = {"llama_decode": 10e3, "mamba_decode": 0}  # microseconds for 512 more tokens in the cache


def decoding(workload, contexts=(512, 1024, 4096), batch=4):
    """Steps of 40 ms after 512 tokens. A token of a sequence has 1 MB in the cache of llama_decode."""
    rows = []
    for tokens in contexts:
        us = 40e3 + GROWTH[workload] * (tokens / 512 - 1)
        name = with_context(step_name(workload, "infer", threads=2, batch=batch), tokens)
        cache = 1e6 * batch * (tokens if GROWTH[workload] else 3)
        fields = {"context_tokens": tokens, "weight_bytes": 2e9, "cache_bytes": cache}
        fields |= {"params": 5e8, "flops_per_step": 1e9 * batch}
        rows.append(row(name, us, decode_ms_per_token=us / 1e3, **fields))
    return rows


def prompts(workload="llama", contexts=(128, 512, 1024), batch=4):
    """Prompts of a network with 500 million parameters: 2.5 ms for each token of 1 GFLOP, and 20 ms."""
    rows = []
    for tokens in contexts:
        name = with_context(step_name(workload, "infer", threads=2, batch=batch), tokens)
        fields = {"context_tokens": tokens, "params": 5e8, "flops_per_step": 1e9 * batch * tokens}
        rows.append(row(name, 20e3 + 2.5e3 * batch * tokens, **fields))
    return rows


def generation(us, workload="llama", batch=4):
    """A step that reads a prompt of 512 tokens and decodes 128."""
    name = step_name(workload, "generate", threads=2, batch=batch)
    return [row(name, us, context_tokens=512, params=5e8, flops_per_step=6.4e11 * batch)]


def with_context(name, tokens):
    """The name of a step of so many tokens, whose own number is 512."""
    return name if tokens == 512 else name.replace("/precision", f"/context:{tokens}/precision")


def language_model():
    """A network's decoding, prompts and generation."""
    return [*decoding("llama_decode"), *prompts(), *generation(10e6)]


def memory_fields(scale=1, mode="train"):
    fields = {}
    for name, size in MEMORY.items():
        if mode == "infer" and name in ("gradients", "optimizer", "features"):
            continue
        size *= scale if name in GROWING else 1
        fields[f"memory_{name}_bytes"] = fields[f"memory_{name}_at_peak_bytes"] = size
    at_peak = [size for name, size in fields.items() if name.endswith("_at_peak_bytes")]
    return fields | {"memory_peak_bytes": sum(at_peak)}


def ops(workload, cold=False, threads=1):
    """Op rows of a workload: two shapes per op type, with CALLS calls per training step and one per inference."""
    rows = []
    for op_type in PROFILES[workload]:
        if CLASSES[op_type] == "framework":
            continue
        us = type_us(workload, op_type, threads) / (2 * CALLS) / IN_STEP
        backends = {"torch": us}
        if op_type in VENDORS:
            backends[VENDORS[op_type]] = us * BEST
        for layer in ("first", "second"):
            for backend, time in backends.items():
                for cache in ("hot", "cold") if cold else ("hot",):
                    time_us = time * (COLD if cache == "cold" else 1)
                    name = op_name(op_type, workload, layer, backend, cache, threads=threads)
                    calls = {"calls_per_model_step": CALLS, "calls_per_inference": 1}
                    rates = op_rates(op_type, us / time_us, threads)
                    chosen = {"in_steps": 1} if backend == "torch" else {}
                    rows.append(row(name, time_us, **chosen, **calls, **rates))
    return rows


def op_rates(op_type, speed, threads=1):
    """Rates of FLOPs and bytes at `speed` times the speed of LibTorch."""
    if op_type in FLOPS:
        share = FLOPS[op_type] * speed
        flops = share * PEAK_FLOPS * threads
        return {"flops": flops, "flops_pct_peak": 100 * share, "bytes": flops / INTENSITY}
    if op_type in BYTES:
        share = BYTES[op_type] * speed
        rate = share * PEAK_BYTES * min(threads, 4)
        # Ops with data in caches have no share of the memory peak.
        return {"bytes": rate} | ({"bytes_pct_peak": 100 * share} if BYTES[op_type] <= 1 else {})
    return {}


def document(
    workloads=tuple(PROFILES),
    threads=(1,),
    scales=(1,),
    modes=MODES,
    gpu=False,
    memory=False,
    profile=True,
    op_rows=True,
    cold=False,
    extra=(),
    **more,
):
    """A complete document. `scales` multiply the batch, `extra` are more rows, `more` goes to the context."""
    devices = [("cpu", count) for count in threads] + ([("cuda", 1)] if gpu else [])
    rows = []
    for workload in workloads:
        for mode in modes:
            for device, count in devices:
                for scale in scales:
                    rows += step(workload, mode, device, count, scale, memory, profile)
    for workload in workloads if op_rows else ():
        for count in threads:
            rows += ops(workload, cold, count)
    return {"context": context(threads, gpu, **more), "benchmarks": rows + list(extra)}


def everything():
    """A document with rows for every figure of the report, without samples."""
    other = [
        row
        for workload in PROFILES
        for mode in MODES
        for row in made_up_backends.on_all(step(workload, mode, threads=8, profile=False))
    ]
    other += made_up_ranks.rows(PROFILES)
    steps = step("vgg", "infer", threads=8, profile=False)
    other += made_up_backends.in_format("int8", steps, 0.4, distance_to_fp32=0.01)
    options = {"threads": (1, 2, 4, 8), "scales": (0.5, 1, 2)}
    return document(**options, gpu=True, memory=True, cold=True, extra=other)


def samples(workload="alexnet", steps=40, drift=0.0, noise=0.02, types=()):
    """Lines of --fathom_samples for op types of a workload, with noise, and a drift over the run."""
    lines = []
    for op_type in types or PROFILES[workload]:
        name = f"{step_name(workload)}/op:{op_type}/process_time/real_time"
        for index in range(steps):
            # Multiples of the golden ratio modulo 1: evenly spread, not sorted, and reproducible.
            wave = noise * (2 * (index * 0.6180339887 % 1) - 1)
            us = type_us(workload, op_type) * (1 + wave + drift * index / steps)
            lines.append(json.dumps({"name": name, "repetition": 0, "step": index, "us": us}))
    return lines


def write(path, made):
    """Writes a document as JSON, or lines of samples; with `.gz`, as a gzip file. Returns the path."""
    text = json.dumps(made) if isinstance(made, dict) else "\n".join(made) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path
