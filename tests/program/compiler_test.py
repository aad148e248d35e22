"""cmake/Compiler.cmake refuses compilers that do not fit, and uses ccache only where it works."""

import os
import subprocess

import pytest

from gpu_tools_test import tool
from program import ROOT


def configure(folder, before="", **variables):
    """Configures a project that includes Compiler.cmake after the lines `before`."""
    (folder / "CMakeLists.txt").write_text(
        f"""
        cmake_minimum_required(VERSION 3.25)
        project(trial LANGUAGES CXX)
        list(APPEND CMAKE_MODULE_PATH "{ROOT}/cmake")
        {before}
        include(Compiler)
        message(STATUS "launcher: ${{CMAKE_CXX_COMPILER_LAUNCHER}}")"""
    )
    return subprocess.run(
        ["cmake", "-S", folder, "-B", folder / "build"],
        env=os.environ | variables,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("compiler, version", [("GNU", "11.4.0"), ("Clang", "18.1.3")])
def test_a_compiler_that_does_not_fit_is_named(compiler, version, tmp_path):
    result = configure(
        tmp_path,
        f"set(CMAKE_CXX_COMPILER_ID {compiler})\nset(CMAKE_CXX_COMPILER_VERSION {version})",
    )
    assert result.returncode == 1
    error = " ".join(result.stderr.split())
    assert f"is {compiler} {version}: g++ 12 or newer is needed" in error
    assert f"Remove {tmp_path}/build and start again with CXX=g++-12" in error


@pytest.mark.parametrize("works", [True, False])
def test_a_ccache_that_fails_is_not_used(works, tmp_path):
    ccache = tool(tmp_path / "bin/ccache", 'exec "$@"' if works else "exit 1")
    result = configure(tmp_path, PATH=f"{ccache.parent}:{os.environ['PATH']}")
    assert result.returncode == 0, result.stderr
    (launcher,) = [line for line in result.stdout.splitlines() if line.startswith("-- launcher:")]
    assert (str(ccache) in launcher) == works
