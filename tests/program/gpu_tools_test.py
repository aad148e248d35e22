"""Drivers and toolkits that come, go or do not fit, with pretended tools."""

import os
import pathlib
import shutil
import subprocess

import pytest

from program import PROGRAM, ROOT

SETUP = ROOT / "cmake/setup.sh"
ENVIRONMENT = {
    key: value for key, value in os.environ.items() if key[:4] != "CUDA" and key != "PATH"
}


def tool(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def nvcc(folder, version):
    """A pretended nvcc of a version, or one that fails."""
    says = f"Cuda compilation tools, release {version}, V{version}.88"
    return tool(folder / "bin/nvcc", f"echo '{says}'" if version else "exit 1")


@pytest.fixture
def shell(tmp_path):
    """Runs a bash script where only the pretended tools in tmp_path/bin come before the system's."""

    def run_script(script, *folders, **variables):
        path = ":".join(
            [str(tmp_path / "bin"), *(f"{one}/bin" for one in folders), "/usr/bin:/bin"]
        )
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            env={**ENVIRONMENT, "PATH": path, **variables},
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run_script


def lines(text):
    """What gpu_tools prints, without the tools of this machine."""
    own = ("/usr/local/", "/usr/bin/", "/usr/lib/", "/opt/")
    return [one for one in text.splitlines() if not any(f" {folder}" in one for folder in own)]


def test_tools_are_those_of_path_and_cudacxx(shell, tmp_path):
    first, second, third = (nvcc(tmp_path / name, "13.0") for name in ("one", "two", "three"))
    for path in (first, second, third):
        os.utime(path, (1000, 1000))
    (tmp_path / "link").mkdir()
    (tmp_path / "link/bin").symlink_to(second.parent)
    found = shell(
        f"source '{SETUP}'; gpu_tools", tmp_path / "one", tmp_path / "link", CUDACXX=str(third)
    )
    listed = [one for one in lines(found.stdout) if one.startswith("nvcc")]
    assert listed == [f"nvcc 1000 {path}" for path in (third, first, second)]


@pytest.mark.parametrize(
    "name, text",
    [("nvidia-smi", "exit 0"), ("ldconfig", "echo 'libcuda.so.1 (libc6) => /usr/lib/wsl/lib'")],
)
def test_a_driver_is_a_tool(name, text, shell, tmp_path):
    tool(tmp_path / "bin" / name, text)
    assert shell(f"source '{SETUP}'; gpu_tools").stdout.startswith("driver")


def test_the_build_has_seen_this_machines_tools():
    built = pathlib.Path(PROGRAM).resolve().parent / "gpu_tools.txt"
    found = subprocess.run(
        ["bash", "-c", f"source '{SETUP}'; gpu_tools"], capture_output=True, text=True, check=True
    )
    assert built.read_text() == found.stdout


# --- configured again


@pytest.fixture
def start(shell, tmp_path):
    """Starts the launcher's set-up in a scratch project and returns how often CMake has configured it."""
    project = tmp_path / "project"
    (project / "cmake").mkdir(parents=True)
    shutil.copy(SETUP, project / "cmake")
    (project / "cmake/packages.txt").touch()
    log = tmp_path / "configured"
    tool(tmp_path / "bin/ninja", "echo ninja: no work to do.")
    tool(
        tmp_path / "bin/cmake",
        f"[ $1 = --version ] && exec echo cmake version 3.25.1\necho >>{log}\ntouch {project}/build/trial/build.ninja\n"
        f"bash -c 'source \"{SETUP}\"; gpu_tools' >{project}/build/trial/gpu_tools.txt",
    )

    def started(**variables):
        script = f"source '{project}/cmake/setup.sh'; set_up trial program"
        result = shell(script, tmp_path / "toolkit", **variables)
        assert result.returncode == 0, result.stderr
        return len(log.read_text())

    return started


def test_a_toolkit_that_comes_or_goes_or_changes_configures_again(start, tmp_path):
    assert [start(), start()] == [1, 1]
    compiler = nvcc(tmp_path / "toolkit", "13.0")
    assert [start(), start()] == [2, 2]
    os.utime(compiler, (1000, 1000))
    assert [start(), start()] == [3, 3]
    compiler.unlink()
    assert [start(), start()] == [4, 4]
    other = str(nvcc(tmp_path / "other", "13.0"))
    assert [start(CUDACXX=other), start(CUDACXX=other)] == [5, 5]
    assert [start(CUDAHOSTCXX="g++"), start(CUDAHOSTCXX="g++"), start()] == [6, 6, 7]


@pytest.mark.skipif(os.path.exists("/proc/driver/nvidia/version"), reason="this machine has a GPU")
def test_a_driver_configures_again(start, tmp_path):
    assert start() == 1
    driver = tool(tmp_path / "bin/nvidia-smi", "exit 0")
    assert [start(), start()] == [2, 2]
    driver.unlink()
    assert start() == 3


# --- the choice of nvcc


@pytest.fixture
def choose(tmp_path):
    """Which of some nvcc CMake takes for a version of LibTorch's CUDA, and what it says."""

    def chosen(major, *compilers):
        script = tmp_path / "choose.cmake"
        script.write_text(
            f"""
            list(APPEND CMAKE_MODULE_PATH "{ROOT}/cmake")
            include(GpuTools)
            fathom_choose_nvcc({major} nvcc {" ".join(map(str, compilers))})
            message("chosen ${{nvcc}}")"""
        )
        result = subprocess.run(["cmake", "-P", script], capture_output=True, text=True, check=True)
        return result.stderr.strip().removeprefix("chosen").strip(), result.stdout.splitlines()

    return chosen


def test_the_toolkit_of_libtorchs_cuda_is_used(choose, tmp_path):
    old, older = nvcc(tmp_path / "12", "12.4"), nvcc(tmp_path / "11", "11.8")
    new, broken = nvcc(tmp_path / "13", "13.1"), nvcc(tmp_path / "0", "")
    assert choose(13, new, old) == (str(new), [])
    path, said = choose(13, old, broken, older, new)
    assert path == str(new)
    assert said == [
        f"CUDA: {old} is not used: it is CUDA 12.4, but LibTorch needs CUDA 13",
        f"CUDA: {broken} is not used: it does not run",
        f"CUDA: {older} is not used: it is CUDA 11.8, but LibTorch needs CUDA 13",
    ]
    assert choose(12, old)[0] == str(old)


def test_no_toolkit_may_fit(choose, tmp_path):
    assert choose(13) == ("", [])
    assert choose(13, nvcc(tmp_path / "12", "12.8"))[0] == ""
