"""The checks of tests/gpu, in the order in which they would break."""

import dataclasses
import json
import re

MIN_SHARE_OF_PEAK = 50  # percent, of the fastest backend of a product of 4096 x 4096 matrices
SQUARE = {
    "workload": "square",
    "rows": [
        {"op": "matmul", "layer": "4096", "pass": "forward", "count": 1, "infer_count": 1}
        | {"transpose_b": True}
        | dict.fromkeys("mnk", 4096)
    ],
}


# How the program's reasons for having no GPU begin (fixtures/machine/device.cc).
NO_GPU = ("no NVIDIA driver", "the NVIDIA driver ", "the GPU ", "built without CUDA")
NO_GPU += ("libfathom_cuda.so does not load", "LibTorch cannot use the GPU")


def not_skipped(folder, output):
    """A test that found no GPU has tested nothing."""
    found = re.search(rf"^(?:{'|'.join(map(re.escape, NO_GPU))}).*", output, re.MULTILINE)
    return found[0] if found else ""


def has_cuda_rows(folder, output):
    return "" if "/device:cuda/" in output else "no row has device:cuda"


def rows_of(path):
    try:
        return json.loads(path.read_text())["benchmarks"]
    except (OSError, ValueError):
        return []


def has_rows(name):
    return lambda folder, output: "" if rows_of(folder / name) else f"{name} has no rows"


def has_gpu_state(folder, output):
    """NVML must tell the power and the clock of the GPU while a row runs."""
    rows = rows_of(folder / "steps.json")
    missing = [
        key for key in ("gpu_power_w", "gpu_clock_mhz") if not any(key in row for row in rows)
    ]
    if not rows:
        return "steps.json has no rows"
    return f"no row of steps.json has {' and '.join(missing)}" if missing else ""


def reaches_peak(folder, output):
    shares = {}
    for row in rows_of(folder / "square.json"):
        if "/square/" not in row["name"]:
            continue
        precision = re.search(r"/precision:(\w+)/", row["name"])[1]
        shares[precision] = max(shares.get(precision, 0), row.get("flops_pct_peak", 0))
    low = [f"{one} {share:.0f} %" for one, share in shares.items() if share < MIN_SHARE_OF_PEAK]
    if not shares:
        return "square.json has no row of /square/"
    return f"share of peak: {', '.join(low)}; expected {MIN_SHARE_OF_PEAK} %" if low else ""


@dataclasses.dataclass(frozen=True)
class Check:
    name: str
    says: str
    limit: int  # seconds; 0 for the time that is left
    commands: tuple[str, ...]  # with SHORT_FORMS, and names that tests/gpu gives
    problem: object = None  # function of the folder and the output; returns "" if nothing is wrong
    module: str = ""  # what Python needs for it
    shards: int = 1  # processes among which the tests of a program are divided
    may_end_early: bool = False  # what is measured at the limit counts


SHORT_FORMS = {
    "{cuda}": "{program} --fathom_device=cuda",
    "{quick}": "{program} --fathom_device=cuda --benchmark_min_time=0.05",
    "{precisions}": "--fathom_precision=fp32,tf32,bf16",
    "{formats}": "--fathom_precision=fp32,tf32,bf16,fp16,int8,fp8",
}


def arguments_of(command, names):
    """The words of a check's command. `names` are what tests/gpu gives."""
    for short, form in SHORT_FORMS.items():
        command = command.replace(short, form)
    return [word.format(**names) for word in command.split()]


# Fathom's eight workloads without their variants.
STEPS = "^(seq2seq|memnet|speech|autoenc|residual|vgg|alexnet|deepq)/(train|infer)/"
# Each op of a network with convolutions, and those of the recurrent networks that it lacks.
OPS = (
    "^op/.*/deepq/|^op/(lstm|lstm_cell|additive_attention|embedding)/seq2seq/|^op/ctc_loss/speech/"
)

CHECKS = [
    Check("machine", "the driver, the GPU and its state", 30, ("nvidia-smi -q",)),
    Check(
        "list",
        "the program opens the GPU and lists its rows",
        60,
        ("{cuda} --benchmark_filter=^memnet/infer", "{cuda} --benchmark_list_tests"),
        has_cuda_rows,
    ),
    Check(
        "fixtures_tests",
        "a tensor on the GPU",
        30,
        ("{tests}/fixtures_tests --gtest_filter=Device.*",),
        not_skipped,
    ),
    Check(
        "ops_tests",
        "ops against float64: vendors' libraries and our kernels",
        60,
        ("{tests}/ops_tests --gtest_filter=*Cuda*:*Gpu*:*LocalResponseNormResult*",),
        not_skipped,
        shards=4,
    ),
    Check(
        "models_tests",
        "small models: losses, gradients, precisions, graphs",
        240,
        ("{tests}/models_tests --gtest_filter=*Cuda*:*Gpu*:*GroupedConvolution*",),
        not_skipped,
        shards=8,
    ),
    Check(
        "benchmarks_tests",
        "the timed loop and profiles",
        60,
        ("{tests}/benchmarks_tests --gtest_filter=*Cuda*:*Gpu*",),
        not_skipped,
    ),
    Check(
        "square",
        f"products of 4096 x 4096 matrices reach {MIN_SHARE_OF_PEAK} % of the peak",
        60,
        (
            "{cuda} {formats} --fathom_shapes={out}/square_shapes.json"
            " --benchmark_filter=^op/(quantized_)?matmul/square/"
            " --benchmark_out={out}/square.json",
        ),
        reaches_peak,
    ),
    Check(
        "steps",
        "a short row of each step at each precision, with the power and the clock of the GPU",
        240,
        (
            f"{{quick}} {{precisions}} --benchmark_filter={STEPS} --benchmark_out={{out}}/steps.json",
        ),
        has_gpu_state,
    ),
    Check(
        "ops",
        "a short row of deepq's and of recurrent ops at each precision",
        210,
        (f"{{quick}} {{precisions}} --benchmark_filter={OPS} --benchmark_out={{out}}/ops.json",),
        has_rows("ops.json"),
    ),
    Check(
        "graphs",
        "steps as CUDA graphs, isolated",
        45,
        (
            "{quick} --fathom_isolate --fathom_cuda_graph --benchmark_filter=^(memnet|deepq|vgg)/train"
            " --benchmark_out={out}/graphs.json",
        ),
        has_rows("graphs.json"),
    ),
    Check(
        "tuned",
        "steps on backend:tuned",
        75,
        (
            "{quick} --fathom_backend=tuned --benchmark_filter=^(deepq|vgg)/train"
            " --benchmark_out={out}/tuned.json",
        ),
        has_rows("tuned.json"),
    ),
    Check(
        "formats",
        "inference of a language model in the formats of 16 and of 8 bits",
        75,
        (
            "{quick} --fathom_precision=fp32,bf16,fp16,int8,fp8 --benchmark_filter=^gpt2/infer"
            " --benchmark_out={out}/formats.json",
        ),
        has_rows("formats.json"),
    ),
    Check(
        "layouts",
        "convolutional networks in channels_last",
        90,
        (
            "{quick} {precisions} --fathom_layout=channels_last --benchmark_filter=^(vgg|residual)/train"
            " --benchmark_out={out}/layouts.json",
        ),
        has_rows("layouts.json"),
    ),
    Check(
        "explain", "where the time of a step goes", 45, ("{cuda} --fathom_explain=memnet/train",)
    ),
    Check(
        "record", "the op shapes of steps on the GPU", 90, ("{cuda} --fathom_record={out}/shapes",)
    ),
    Check(
        "pytorch",
        "steps against PyTorch's Python",
        150,
        (
            "{python} {root}/results/against_pytorch.py vgg/train deepq/train --device cuda"
            " --precision fp32 tf32 bf16 --rounds 1 --program {program} --out {out}/pytorch.jsonl",
        ),
        module="torch",
    ),
    Check(
        "study",
        "a study of Fathom's workloads, as far as the time allows",
        0,
        ("{cuda} --fathom_study=fathom --benchmark_out={out}/run.json",),
        has_rows("run.json"),
        may_end_early=True,
    ),
]
