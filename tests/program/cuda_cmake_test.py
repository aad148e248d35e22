"""Why CMake leaves the CUDA part out, and what it compiles and installs it with, with pretended tools and libraries."""

import hashlib
import subprocess

import pytest

from gpu_tools_test import ENVIRONMENT, nvcc, tool
from program import ROOT

WHEELS = ROOT / "cmake/wheels"


@pytest.fixture
def configured(tmp_path):
    """Includes cmake/<module>.cmake where there is only the given nvcc, and no driver unless `driver` is ON. Returns what
    CMake prints.
    """

    def run_module(module, nvccs=(), environment=None, driver="OFF", **variables):
        script = tmp_path / "script.cmake"
        script.write_text(
            f"""
            list(APPEND CMAKE_MODULE_PATH "{ROOT}/cmake")
            include(GpuTools)
            set(FATHOM_DRIVER {driver})
            set(FATHOM_NVCCS {" ".join(map(str, nvccs))})
            include({module})"""
        )
        variables = {
            "FATHOM_CUDA": "AUTO",
            "FATHOM_DEPS_DIR": tmp_path / "deps",
            "PROJECT_BINARY_DIR": tmp_path,
            "CMAKE_CXX_COMPILER": "ours",
        } | variables
        result = subprocess.run(
            ["cmake", *(f"-D{key}={value}" for key, value in variables.items()), "-P", script],
            env={"PATH": "/usr/bin:/bin"} | ENVIRONMENT | (environment or {}),
            capture_output=True,
            text=True,
        )
        return " ".join((result.stdout + result.stderr).split())

    return run_module


@pytest.fixture
def torch(tmp_path):
    """Makes a pretended LibTorch of a version of CUDA; None for one without CUDA. Returns variables for `configured`."""

    def make(cuda):
        folder = tmp_path / f"torch{cuda}"
        (folder / "lib").mkdir(parents=True, exist_ok=True)
        if cuda:
            (folder / "lib/libtorch_cuda.so").touch()
        library = f"[libcudart.so.{cuda}]" if cuda else ""
        readelf = tool(tmp_path / f"readelf{cuda}", f"echo '(NEEDED) Shared library: {library}'")
        return {"FATHOM_TORCH_DIR": folder, "CMAKE_READELF": readelf}

    return make


def test_each_reason_has_its_own_remedy(configured, torch):
    off = configured("Cuda", FATHOM_CUDA="OFF")
    assert off == "CUDA: off, FATHOM_CUDA=OFF; -DFATHOM_CUDA=ON builds it"
    without = torch(None)
    assert configured("Cuda", **without) == (
        f"CUDA: off, LibTorch in {without['FATHOM_TORCH_DIR']} is built without CUDA; "
        "-DTorch_ROOT=DIR gives another"
    )
    old = torch(12)
    for choice, begin in {"AUTO": "CUDA: off,", "ON": "FATHOM_CUDA=ON, but"}.items():
        assert (
            f"{begin} LibTorch in {old['FATHOM_TORCH_DIR']} needs a toolkit of CUDA 12, and the pinned "
            "nvcc is CUDA 13; install the toolkit, or name its nvcc with -DCMAKE_CUDA_COMPILER=FILE"
        ) in configured("Cuda", FATHOM_CUDA=choice, driver="ON", **old)


def test_a_toolkit_without_a_driver_builds_nothing_unasked(configured, torch, tmp_path):
    compiler = nvcc(tmp_path / "toolkit", "13.0")
    assert configured("Cuda", [compiler], **torch(13)) == (
        "CUDA: off, there is no NVIDIA driver; -DFATHOM_CUDA=ON builds it for another machine"
    )


def failing_nvcc(folder, log):
    """A pretended nvcc of CUDA 13 that compiles nothing."""
    return tool(
        folder / "bin/nvcc",
        f"echo $@ >>{log}\n[ $1 = --version ] && echo 'release 13.0' && exit\n"
        "echo 'nvcc fatal   : no such host' >&2; exit 1",
    )


@pytest.mark.parametrize(
    "environment, setting, host",
    [({}, "", "ours"), ({}, "set", "set"), ({"CUDAHOSTCXX": "named"}, "set", "named")],
)
def test_one_host_compiler_is_tried_with_the_flags(
    environment, setting, host, configured, torch, tmp_path
):
    log = tmp_path / "log"
    compiler = failing_nvcc(tmp_path / "toolkit", log)
    variables = torch(13) | {"CMAKE_CUDA_HOST_COMPILER": setting}
    variables |= {"driver": "ON"}
    said = configured("Cuda", [compiler], {"CUDAFLAGS": "-a -b"} | environment, **variables)
    assert said == (
        f"CUDA: off, {compiler} cannot compile with {host} (nvcc fatal : no such host); "
        "set CUDAHOSTCXX to a compiler that it supports"
    )
    assert f"-std=c++20 -ccbin {host} -a -b -c" in log.read_text()
    configured("Cuda", [compiler], environment, CMAKE_CUDA_FLAGS="-d -e", **variables)
    assert f"-std=c++20 -ccbin {host} -d -e -c" in log.read_text()


def test_an_nvcc_that_cmake_chose_is_not_the_users(configured, torch, tmp_path):
    log = tmp_path / "log"
    first, second = (failing_nvcc(tmp_path / name, log) for name in ("a++", "b"))
    broken = tool(tmp_path / "python", "exit 1")
    cached = torch(13) | {"CMAKE_CUDA_COMPILER": first, "driver": "ON", "FATHOM_PYTHON": broken}
    assert f"off, {first} cannot" in configured("Cuda", [second], **cached)
    cached["FATHOM_CHOSEN_NVCC"] = first
    assert f"off, {second} cannot" in configured("Cuda", [second], **cached)
    assert "Could not install nvcc 13.0" in configured("Cuda", **cached)


# --- which LibTorch is installed


@pytest.fixture
def cuda_wheels(tmp_path):
    """The folder of LibTorch in a pretended installation of the CUDA wheels."""
    pins = "".join((WHEELS / f"wheels-{name}.txt").read_text() for name in ("cpu", "cuda"))
    folder = tmp_path / "deps/cuda/lib/python3.11/site-packages/torch"
    header = folder / "include/torch/headeronly/version.h"
    header.parent.mkdir(parents=True)
    parts = {"MAJOR": 2, "MINOR": 11, "PATCH": 0}
    header.write_text("".join(f"#define TORCH_VERSION_{key} {n}\n" for key, n in parts.items()))
    (tmp_path / "deps/cuda" / hashlib.sha256(pins.encode()).hexdigest()).touch()
    return folder


def test_installed_cuda_wheels_are_used_without_a_driver(configured, cuda_wheels, tmp_path):
    assert f"LibTorch 2.11.0: {cuda_wheels}" in configured("LibTorch")
    broken = {"FATHOM_PYTHON": tool(tmp_path / "python", "exit 1")}
    assert "Could not install LibTorch 2.11.0 (0.6 GB)" in configured(
        "LibTorch", FATHOM_CUDA="OFF", **broken
    )


def test_a_failed_download_of_cuda_wheels_names_the_way_without(configured, tmp_path):
    broken = {"FATHOM_PYTHON": tool(tmp_path / "python", "exit 1")}
    hint = "-DFATHOM_CUDA=OFF needs no CUDA libraries"
    assert hint in configured("LibTorch", FATHOM_CUDA="ON", **broken)
    assert hint not in configured("LibTorch", **broken)
