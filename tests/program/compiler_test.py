"""cmake/Compiler.cmake uses ccache only where it works."""

import os
import subprocess

import pytest

from gpu_tools_test import tool
from program import ROOT


@pytest.mark.parametrize("works", [True, False])
def test_a_ccache_that_fails_is_not_used(works, tmp_path):
    ccache = tool(tmp_path / "bin/ccache", 'exec "$@"' if works else "exit 1")
    (tmp_path / "CMakeLists.txt").write_text(
        f"""
        cmake_minimum_required(VERSION 3.25)
        project(trial LANGUAGES CXX)
        list(APPEND CMAKE_MODULE_PATH "{ROOT}/cmake")
        include(Compiler)
        message(STATUS "launcher: ${{CMAKE_CXX_COMPILER_LAUNCHER}}")"""
    )
    result = subprocess.run(
        ["cmake", "-S", tmp_path, "-B", tmp_path / "build"],
        env=os.environ | {"PATH": f"{ccache.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    (launcher,) = [line for line in result.stdout.splitlines() if line.startswith("-- launcher:")]
    assert (str(ccache) in launcher) == works
