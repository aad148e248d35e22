"""cmake/Libraries.cmake downloads libraries that the system lacks, and the program loads those that it was built with."""

import hashlib
import os
import pathlib
import subprocess
import tarfile

import pytest

from program import PROGRAM, ROOT


def configured(tmp_path, sha256="0" * 64):
    """What CMake says where a library `tiny` is missing that tmp_path/tiny.tar.gz holds, pinned by its hash."""
    source = tmp_path / "source"
    source.mkdir(exist_ok=True)
    (source / "CMakeLists.txt").write_text(
        f"""
        cmake_minimum_required(VERSION 3.25)
        project(source LANGUAGES CXX)
        list(APPEND CMAKE_MODULE_PATH "{ROOT}/cmake")
        include(Wheels)
        include(Libraries)
        fathom_library(tiny 1.0 "file://{tmp_path}/tiny.tar.gz" {sha256})
        get_target_property(system tiny SYSTEM)
        if(system)
          message(STATUS "system headers")
        endif()"""
    )
    command = ["cmake", "-S", source, "-B", tmp_path / "build"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def release_of_tiny(tmp_path):
    """Writes the archive and returns its SHA-256."""
    release = tmp_path / "tiny-1"
    release.mkdir()
    (release / "CMakeLists.txt").write_text(
        "add_library(tiny INTERFACE)\ntarget_include_directories(tiny INTERFACE include)\n"
    )
    with tarfile.open(tmp_path / "tiny.tar.gz", "w:gz") as archive:
        archive.add(release, "tiny-1")
    return hashlib.sha256((tmp_path / "tiny.tar.gz").read_bytes()).hexdigest()


def test_a_missing_library_is_downloaded_and_its_headers_give_no_warnings(tmp_path):
    sha256 = release_of_tiny(tmp_path)
    result = configured(tmp_path, sha256)
    assert result.returncode == 0, result.stderr
    assert f"tiny is not installed: downloading file://{tmp_path}/tiny.tar.gz" in result.stdout
    assert "-- system headers" in result.stdout
    (tmp_path / "tiny.tar.gz").unlink()
    assert configured(tmp_path, sha256).returncode == 0


def test_an_archive_that_is_not_the_pinned_one_is_not_used(tmp_path):
    sha256 = release_of_tiny(tmp_path)
    result = configured(tmp_path)
    assert result.returncode == 1
    assert "its SHA-256 is " + sha256 in " ".join(result.stderr.split())
    assert configured(tmp_path, sha256).returncode == 0, "nothing is left of it"


def test_a_failed_download_is_one_error_with_the_remedies(tmp_path):
    result = configured(tmp_path)
    assert result.returncode == 1
    assert result.stderr.count("could not be downloaded") == 1
    assert result.stderr.count("CMake Error") == 1
    assert "-DCMAKE_PREFIX_PATH=DIR" in result.stderr


@pytest.mark.parametrize(
    "name, libraries",
    [
        ("fathom_bench", ["libc10.so"]),
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
