"""zoo.py FOLDER [NAME...]: runs networks of torchvision, transformers and timm from files, and compares them with Python.

Exports each with random weights into FOLDER, runs it with run_network and fathom_bench (both beside $FATHOM_BENCH), and prints a
line of a table: the largest difference of an output, as a share of its norm, and fathom_bench's median time of an inference as a
share of that of program.module()(*inputs), on one thread, with the least and the largest share of the rounds. A network that
cannot be run has the reason. Needs a Python with requirements.txt. $FATHOM_PRELOAD is LD_PRELOAD of what runs detection networks.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import timm
import torch
import torch.utils._pytree as pytree
import torchvision
import transformers

ROUNDS = 5
SECONDS = 2.0  # of a round, for each of both
PROGRAM = pathlib.Path(os.environ["FATHOM_BENCH"]).resolve()


def image(batch=8, side=224):
    return (torch.randn(batch, 3, side, side),)


def tokens(batch, length, words):
    return (torch.randint(words, (batch, length)),)


def llama():
    config = transformers.LlamaConfig(
        num_hidden_layers=2,
        hidden_size=1024,
        intermediate_size=2816,
        num_attention_heads=16,
        use_cache=False,
    )
    return transformers.LlamaForCausalLM(config)


def t5_encoder():
    return transformers.T5EncoderModel(transformers.T5Config(vocab_size=32128, num_layers=6))


def whisper_encoder():
    return transformers.WhisperModel(transformers.WhisperConfig()).encoder


def detection():
    return torchvision.models.detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None)


NETWORKS = {  # how to make it, its inputs
    "resnet18": (torchvision.models.resnet18, image),
    "mobilenet_v3_large": (torchvision.models.mobilenet_v3_large, image),
    "vit_b_16": (torchvision.models.vit_b_16, image),
    "convnext_tiny": (torchvision.models.convnext_tiny, image),
    "fasterrcnn_resnet50_fpn": (detection, lambda: ([torch.rand(3, 320, 320)],)),
    "bert": (
        lambda: transformers.BertModel(transformers.BertConfig()),
        lambda: tokens(4, 128, 30522),
    ),
    "llama_2_layers": (llama, lambda: tokens(2, 128, 32000)),
    "t5_encoder": (t5_encoder, lambda: tokens(4, 128, 32128)),
    "whisper_encoder": (whisper_encoder, lambda: (torch.randn(1, 80, 3000),)),
    "efficientnet_b0": (lambda: timm.create_model("efficientnet_b0"), image),
    "deit_small": (lambda: timm.create_model("deit_small_patch16_224"), image),
}


def export(name, network, inputs, folder):
    """The file, the call in Python, and the options that give the inputs."""
    if name.startswith("fasterrcnn"):  # torch.export cannot trace it
        path, given = folder / f"{name}.pt", folder / f"{name}_inputs.pt"
        script = torch.jit.script(network)
        script.save(path)
        torch.save(inputs, given)
        return path, script, [given]
    path = folder / f"{name}.pt2"
    program = torch.export.export(network, inputs, strict=False)
    torch.export.save(program, path)
    return path, program.module(), []


def in_environment(command):
    environment = dict(os.environ)
    if "FATHOM_PRELOAD" in environment:
        environment["LD_PRELOAD"] = environment["FATHOM_PRELOAD"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(result.stderr.strip().splitlines()[-1])


def difference(call, inputs, path, given):
    out = path.with_suffix(".out")
    in_environment([PROGRAM.parent / "run_network", path, out, *given])
    found = torch.load(out)
    expected = [one for one in pytree.tree_leaves(call(*inputs)) if isinstance(one, torch.Tensor)]
    assert len(found) == len(expected), f"{len(found)} outputs, {len(expected)} in Python"
    return max(
        ((a.double() - b.double()).norm() / a.double().norm()).item()
        for a, b in zip(expected, found, strict=True)
    )


def python_time(call, inputs):
    """The median time of a call, in microseconds."""
    batches = [pytree.tree_map(torch.clone, inputs) for _ in range(4)]
    times = []
    begin = time.perf_counter()
    while len(times) < 3 or time.perf_counter() - begin < SECONDS:
        batch = batches[len(times) % len(batches)]
        start = time.perf_counter()
        call(*batch)
        times.append((time.perf_counter() - start) * 1e6)
    return statistics.median(times)


def program_time(path, given):
    out = path.with_suffix(".json")
    command = [PROGRAM, f"--fathom_network={path}", f"--benchmark_filter=^{path.stem}/infer/"]
    command += ["--fathom_threads=1", "--fathom_device=cpu", f"--benchmark_out={out}"]
    command += [f"--benchmark_min_time={SECONDS}"]
    command += [f"--fathom_network_inputs={one}" for one in given]
    in_environment(command)
    (row,) = json.loads(out.read_text())["benchmarks"]
    return row["p50_us"] if "p50_us" in row else row["real_time"]


def measure(name, folder):
    make, draw = NETWORKS[name]
    torch.manual_seed(0)
    network, inputs = make().eval(), draw()
    with torch.no_grad():
        for parameter in network.parameters():  # the heads of some start at zero
            if not parameter.any():
                parameter.normal_(std=0.02)
    path, call, given = export(name, network, inputs, folder)
    with torch.inference_mode():
        different = difference(call, inputs, path, given)
        call(*inputs)
        rounds = []
        for _ in range(ROUNDS):
            rounds.append((program_time(path, given), python_time(call, inputs)))
    shares = sorted(ours / theirs for ours, theirs in rounds)
    milliseconds = statistics.median(ours for ours, _ in rounds) / 1e3
    return (
        f"{different:.1g} | {milliseconds:.1f} | "
        f"{statistics.median(shares):.3f} ({shares[0]:.3f} to {shares[-1]:.3f})"
    )


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    print("| network | largest difference of an output | ms | share of Python's time |")
    print("|---|--:|--:|--:|")
    for name in sys.argv[2:] or NETWORKS:
        try:
            result = measure(name, folder)
        except RuntimeError as error:
            result = str(error).strip().splitlines()[0]
        print(f"| {name} | {result} |", flush=True)


main()
