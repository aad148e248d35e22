"""The CUDA part that pinned wheels alone build: what it reads, what it loads, and which GPUs it has code for."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from program import PROGRAM, ROOT

BUILD = pathlib.Path(PROGRAM).resolve().parent
DEPENDENCIES = pathlib.Path(os.environ.get("FATHOM_DEPS_DIR", ROOT / ".deps")).resolve()
LIBRARY = BUILD / "libfathom_cuda.so"
ARCHITECTURES = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_110", "sm_120"]
CACHE = BUILD / "CMakeCache.txt"


def setting(name):
    """A setting of the build, as CMake's cache has it."""
    found = CACHE.exists() and re.search(rf"^{name}:\w+=(.*)$", CACHE.read_text(), re.MULTILINE)
    return found[1] if found else ""


FROM_WHEELS = setting("FATHOM_CUDA_WHEELS") == "ON" and setting("FATHOM_CUDA") in ("AUTO", "ON")

pytestmark = pytest.mark.skipif(not FROM_WHEELS, reason="the CUDA part is not built from wheels")


def output(*command):
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, f"{command[0]}: exit code {found.returncode}: {found.stderr}"
    return found.stdout


def headers():
    """The files that the compilers of the CUDA part read."""
    reads = set()
    ours = False
    for line in output("ninja", "-C", BUILD, "-t", "deps").splitlines():
        if not line.startswith(" "):
            ours = "/fathom_cuda.dir/" in line
        elif ours:
            reads.add(pathlib.Path(os.path.realpath(BUILD / line.strip())))
    assert any(path.name == "cudnn.h" for path in reads)
    assert any(path.name == "host_defines.h" for path in reads)
    return reads


def system_folders():
    """The folders of the C and C++ libraries."""
    command = ["c++", "-xc++", "-E", "-v", "/dev/null"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    listed = text.partition("search starts here:\n#include <...>")[2].splitlines()[1:]
    folders = [os.path.realpath(line.strip()) for line in listed if line.startswith(" ")]
    return [pathlib.Path(folder) for folder in folders if not folder.startswith("/usr/local")]


def test_only_wheels_and_the_system_are_read():
    nvidia = DEPENDENCIES.glob("*/lib/python3*/site-packages/nvidia/*/include")
    cuda = {path.relative_to(folder) for folder in nvidia for path in folder.rglob("*.h*")}
    folders = system_folders()
    for path in headers():
        if path.is_relative_to(DEPENDENCIES) or path.is_relative_to(ROOT):
            continue
        (folder, *_) = [one for one in folders if path.is_relative_to(one)] or [None]
        assert folder, f"{path} is neither ours, nor a wheel's, nor the system's"
        assert path.relative_to(folder) not in cuda, f"{path} is a toolkit's"


def test_every_symbol_is_found():
    found = subprocess.run(["ldd", "-r", LIBRARY], capture_output=True, text=True)
    assert found.returncode == 0, f"ldd -r: exit code {found.returncode}: {found.stderr}"
    assert not re.findall(r".*(?:undefined symbol|not found).*", found.stdout + found.stderr)
    for name in ("libcudart.so.13", "libcublasLt.so.13", "libcudnn.so.9", "libnccl.so.2"):
        path = re.search(rf"{re.escape(name)} => (\S+)", found.stdout)[1]
        assert pathlib.Path(path).resolve().is_relative_to(DEPENDENCIES)


def test_it_loads_without_a_driver():
    program = f"import ctypes, os; ctypes.CDLL({str(LIBRARY)!r}, os.RTLD_NOW | os.RTLD_GLOBAL)"
    output(sys.executable, "-c", program)


def test_it_has_code_for_each_gpu():
    tools = list(DEPENDENCIES.glob("lint/lib/python3*/site-packages/nvidia/cu13/bin/cuobjdump"))
    if not tools:
        pytest.skip("cuobjdump is not installed; cmake -P cmake/lint.cmake installs it")
    code = re.findall(r"\.(sm_\d+)\.cubin", output(tools[0], "--list-elf", LIBRARY))
    counts = {name: code.count(name) for name in ARCHITECTURES}
    assert min(counts.values()) == max(counts.values()) > 0 and len(code) == sum(counts.values())
    assert "sm_120.ptx" in output(tools[0], "--list-ptx", LIBRARY)
