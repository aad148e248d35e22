"""The command fathom_bench of the wheel: replaces Python with the program, which needs LibTorch's libraries."""

import importlib.metadata
import importlib.util
import os
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
PIP = f"{sys.executable} -m pip install"
# PyPI's libtorch_cpu.so needs them without a GPU, too.
NVIDIA = {"libcupti": "nvidia-cuda-cupti==13.0.85", "libcudart": "nvidia-cuda-runtime==13.0.96"}


def main():
    torch = libtorch()
    variables = dict(os.environ)
    if torch.parent != FOLDER.parent:  # the program looks for LibTorch beside its own folder only
        folders = [
            torch / "lib",
            *torch.parent.glob("nvidia/*/lib"),
            variables.get("LD_LIBRARY_PATH"),
        ]
        variables["LD_LIBRARY_PATH"] = ":".join(str(one) for one in folders if one)
    program = FOLDER / "fathom_bench"
    try:
        os.execve(program, [str(program), *sys.argv[1:]], variables)
    except OSError as error:
        fail(f"{program}: {error.strerror}")


def libtorch():
    """The folder of the package torch, which is not imported: that would take seconds."""
    needed = next(
        one for one in importlib.metadata.requires("fathom-bench") if one.startswith("torch")
    )
    found = importlib.util.find_spec("torch")
    if not found or not found.origin:
        fail(f"{sys.prefix} has no torch, expected {needed}: {PIP} {needed}")
    version = importlib.metadata.version("torch").partition("+")[0]
    if needed != f"torch=={version}":
        fail(f"{sys.prefix} has torch {version}, expected {needed}: {PIP} {needed}")
    torch = pathlib.Path(found.origin).resolve().parent
    if (torch / "lib/libtorch_cuda.so").exists():
        for name, package in NVIDIA.items():
            if not list(torch.parent.glob(f"nvidia/*/lib/{name}.so.*")):
                fail(
                    f"{torch.parent}/nvidia has no {name}, expected that of {needed}: {PIP} {package}"
                )
    return torch


def fail(line):
    print(f"fathom_bench: {line}", file=sys.stderr)
    sys.exit(2)
