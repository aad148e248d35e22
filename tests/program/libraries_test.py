"""cmake/Libraries.cmake downloads libraries that the system lacks."""

import subprocess
import tarfile

from program import ROOT


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
