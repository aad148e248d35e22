"""cmake/Libraries.cmake downloads libraries that the system lacks, and the program loads those that it was built with."""

import os
import pathlib
import subprocess
import tarfile

import pytest

from program import PROGRAM, ROOT


def test_a_missing_library_is_downloaded_and_its_headers_give_no_warnings(tmp_path):
    release = tmp_path / "tiny-1"
    release.mkdir()
    (release / "CMakeLists.txt").write_text(
        "add_library(tiny INTERFACE)\ntarget_include_directories(tiny INTERFACE include)\n"
    )
    with tarfile.open(tmp_path / "tiny.tar.gz", "w:gz") as archive:
        archive.add(release, "tiny-1")
    source = tmp_path / "source"
    source.mkdir()
    (source / "CMakeLists.txt").write_text(
        f"""
        cmake_minimum_required(VERSION 3.25)
        project(source LANGUAGES CXX)
        list(APPEND CMAKE_MODULE_PATH "{ROOT}/cmake")
        include(Wheels)
        include(Libraries)
        fathom_library(tiny 1.0 file://{tmp_path}/tiny.tar.gz)
        get_target_property(system tiny SYSTEM)
        if(system)
          message(STATUS "system headers")
        endif()"""
    )
    result = subprocess.run(
        ["cmake", "-S", source, "-B", tmp_path / "build"], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert f"tiny is not installed: downloading file://{tmp_path}/tiny.tar.gz" in result.stdout
    assert "-- system headers" in result.stdout


@pytest.mark.parametrize(
    "name, libraries",
    [
        ("fathom_bench", ["libc10.so", "libdnnl.so.3"]),
        ("libfathom_cuda.so", ["libcublasLt.so.13", "libcudart.so.13", "libcudnn.so.9"]),
    ],
)
def test_other_libraries_in_ld_library_path_are_not_loaded(name, libraries, tmp_path):
    file = pathlib.Path(PROGRAM).resolve().parent / name
    if not file.exists():
        pytest.skip("built without CUDA")
    for library in libraries:
        (tmp_path / library).touch()
    environment = os.environ | {"LD_LIBRARY_PATH": str(tmp_path)}
    result = subprocess.run(["ldd", file], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert str(tmp_path) not in result.stdout
