#!/usr/bin/env python3
"""Our steps beside the same networks in PyTorch's own Python, eager, on this machine.

    results/against_pytorch.py vgg/train vgg/infer --threads 2 --rounds 5

Both sides run alternately in processes of their own, so that drift of the machine meets both. Needs a Python with the
PyTorch of the version that the program was built with. Prints medians in milliseconds and the ratio ours / PyTorch's,
with the range of the rounds.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def he(torch, net):
    """models/layers.cc's initialise_he."""
    for module in net.modules():
        if isinstance(module, torch.nn.Conv2d):
            torch.nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(module, torch.nn.Linear):
            torch.nn.init.normal_(module.weight, std=0.01)
        if getattr(module, "bias", None) is not None and not hasattr(module, "running_mean"):
            torch.nn.init.zeros_(module.bias)


def vgg(torch):
    """VGG-19 as models/vgg.cc builds it, for 224 x 224 images: the network and its SGD."""
    nn = torch.nn
    layers, channels = [], 3
    for convolutions, width in ((2, 64), (2, 128), (4, 256), (4, 512), (4, 512)):
        for _ in range(convolutions):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
            channels = width
        layers.append(nn.MaxPool2d(2))
    layers += [nn.Flatten(), nn.Linear(512 * 7 * 7, 4096), nn.ReLU(), nn.Dropout(0.5)]
    layers += [nn.Linear(4096, 4096), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4096, 1000)]
    net = nn.Sequential(*layers)
    he(torch, net)
    return net, {"lr": 0.01, "momentum": 0.9, "weight_decay": 5e-4}


def alexnet(torch):
    """models/alexnet.cc's network of 2012, with LibTorch's composite normalisation."""
    nn = torch.nn
    norm = {"size": 5, "alpha": 5e-4, "beta": 0.75, "k": 2.0}
    net = nn.Sequential(
        *(nn.Conv2d(3, 96, 11, 4, 2), nn.ReLU(), nn.LocalResponseNorm(**norm), nn.MaxPool2d(3, 2)),
        *(nn.Conv2d(96, 256, 5, padding=2, groups=2), nn.ReLU(), nn.LocalResponseNorm(**norm)),
        *(nn.MaxPool2d(3, 2), nn.Conv2d(256, 384, 3, padding=1), nn.ReLU()),
        *(nn.Conv2d(384, 384, 3, padding=1, groups=2), nn.ReLU()),
        *(nn.Conv2d(384, 256, 3, padding=1, groups=2), nn.ReLU(), nn.MaxPool2d(3, 2)),
        *(nn.Flatten(), nn.Linear(9216, 4096), nn.ReLU(), nn.Dropout(0.5)),
        *(nn.Linear(4096, 4096), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4096, 1000)),
    )
    for parameter in net.parameters():
        torch.nn.init.normal_(parameter, std=0.01)
    return net, {"lr": 0.01, "momentum": 0.9, "weight_decay": 5e-4}


def residual(torch):
    """models/residual.cc's ResNet-34."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.norm1 = nn.BatchNorm2d(outputs)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.norm2 = nn.BatchNorm2d(outputs)
            self.shortcut = nn.Identity()
            if stride > 1:
                project = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
                self.shortcut = nn.Sequential(project, nn.BatchNorm2d(outputs))

        def forward(self, x):
            inner = self.norm1(self.conv1(x)).relu()
            return self.norm2(self.conv2(inner)).add_(self.shortcut(x)).relu_()

    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    layers.append(nn.MaxPool2d(3, 2, 1))
    channels = 64
    for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        for block in range(blocks):
            layers.append(Block(channels, width, 2 if stage > 0 and block == 0 else 1))
            channels = width
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))
    he(torch, net)
    return net, {"lr": 0.1, "momentum": 0.9, "weight_decay": 1e-4}


# Network maker and Fathom's batch, by workload.
NETWORKS = {"residual": (residual, 16), "vgg": (vgg, 8), "alexnet": (alexnet, 64)}


def eager_step(row, threads):
    """A closure that runs one step as a PyTorch user writes it."""
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    workload, mode = row.split("/")
    make, batch = NETWORKS[workload]
    net, options = make(torch)
    images = torch.rand(batch, 3, 224, 224) * 2 - 1
    labels = torch.randint(1000, (batch,))
    if mode == "infer":
        net.eval()

        def step():
            with torch.inference_mode():
                net(images)

        return step
    optimizer = torch.optim.SGD(net.parameters(), **options)

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(images), labels).backward()
        optimizer.step()

    return step


def time_eager(row, threads):
    """Median milliseconds of at least five steps and two seconds, after three steps of warm-up."""
    step = eager_step(row, threads)
    for _ in range(3):
        step()
    times = []
    while len(times) < 5 or sum(times) < 2000:
        begin = time.perf_counter()
        step()
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


def eager_milliseconds(row, threads):
    command = [sys.executable, __file__, row, "--threads", str(threads), "--eager"]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def our_milliseconds(program, row, threads):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        command = [
            program,
            f"--benchmark_filter=^{row}/device:cpu/",
            f"--fathom_threads={threads}",
            "--benchmark_min_time=2",
            f"--benchmark_out={out}",
        ]
        subprocess.run(command, check=True, capture_output=True)
        (result,) = json.loads(out.read_text())["benchmarks"]
    return result.get("p50_us", result["real_time"]) / 1e3


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    rows = [f"{workload}/{mode}" for workload in NETWORKS for mode in ("train", "infer")]
    parser.add_argument("rows", nargs="+", choices=rows, metavar="ROW", help=", ".join(rows))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--program", default=ROOT / "build/default/fathom_bench")
    parser.add_argument("--eager", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.eager:
        print(time_eager(arguments.rows[0], arguments.threads))
        return
    for row in arguments.rows:
        ours, eager = [], []
        for _ in range(arguments.rounds):
            ours.append(our_milliseconds(arguments.program, row, arguments.threads))
            eager.append(eager_milliseconds(row, arguments.threads))
        ratios = [a / b for a, b in zip(ours, eager)]
        print(
            f"{row}, {arguments.threads} threads: {statistics.median(ours):.1f} ms against "
            f"{statistics.median(eager):.1f} ms, ratio {statistics.median(ratios):.3f} "
            f"({min(ratios):.3f} to {max(ratios):.3f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
