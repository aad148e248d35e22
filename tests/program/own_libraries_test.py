"""The user's own LibTorch, oneDNN and MPI: CMake takes the one that is named, or says what is wrong."""

import hashlib
import os
import subprocess

import pytest

from gpu_tools_test import tool
from program import ROOT


@pytest.fixture
def configured(tmp_path):
    """Includes cmake/<module>.cmake in one build folder. Returns CMake's exit code and what it prints."""

    def configure(module, *options, **environment):
        (tmp_path / "CMakeLists.txt").write_text(
            f"""
            cmake_minimum_required(VERSION 3.25)
            project(trial LANGUAGES CXX)
            list(APPEND CMAKE_MODULE_PATH "{ROOT}/cmake")
            set(FATHOM_PYTHON false)  # no downloads
            set(FATHOM_CUDA OFF)
            include({module})
            if(TARGET DNNL::dnnl)
              get_target_property(used DNNL::dnnl IMPORTED_LOCATION)
              message("oneDNN in ${{used}}")
            endif()
            if(TARGET MPI::MPI_CXX)
              get_target_property(used MPI::MPI_CXX IMPORTED_LOCATION)
              message("MPI in ${{used}}")
            endif()"""
        )
        result = subprocess.run(
            ["cmake", "-S", tmp_path, "-B", tmp_path / "build", *options],
            env=os.environ | environment,
            capture_output=True,
            text=True,
        )
        return result.returncode, " ".join((result.stdout + result.stderr).split())

    return configure


def onednn(folder, version, runtime):
    """An installation of a pretended oneDNN."""
    configs = folder / "lib/cmake/dnnl"
    configs.mkdir(parents=True)
    (configs / "dnnl-config.cmake").write_text(
        f"set(DNNL_CPU_THREADING_RUNTIME {runtime})\nadd_library(DNNL::dnnl SHARED IMPORTED)\n"
        f"set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION {folder.name})\n"
    )
    compatible = "TRUE" if version[0] == "3" else "FALSE"
    (configs / "dnnl-config-version.cmake").write_text(
        f"set(PACKAGE_VERSION {version})\nset(PACKAGE_VERSION_COMPATIBLE {compatible})\n"
    )
    return folder


def test_a_new_dnnl_root_is_used(configured, tmp_path):
    one, two = (onednn(tmp_path / name, "3.5", "OMP") for name in ("one", "two"))
    for folder in (one, two, one):
        code, said = configured("OneDnn", f"-DDNNL_ROOT={folder}", f"-DCMAKE_PREFIX_PATH={two}")
        assert code == 0 and f"oneDNN in {folder.name}" in said


@pytest.mark.parametrize(
    "version, runtime, found",
    [("3.6", "TBB", "oneDNN 3.6 TBB"), ("2.7", "OMP", "oneDNN 2.7"), (None, None, "none")],
)
def test_a_dnnl_root_that_does_not_fit_is_an_error(version, runtime, found, configured, tmp_path):
    if version:
        onednn(tmp_path / "own", version, runtime)
    code, said = configured("OneDnn", f"-DDNNL_ROOT={tmp_path}/own")
    assert code == 1 and f"expected oneDNN 3 with the OMP runtime, found {found}" in said


def test_a_source_that_cannot_be_downloaded_is_one_error(configured, tmp_path):
    """git looks for GitHub's repositories in an empty folder."""
    settings = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{tmp_path}/.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/",
    }
    options = ("-DFATHOM_ONEDNN=source", f"-DFATHOM_DEPS_DIR={tmp_path}/deps")
    code, said = configured("OneDnn", *options, **settings)
    assert code == 1 and "does not appear to be a git repository. Start again with network" in said
    assert not list((tmp_path / "deps").iterdir())


def test_another_kind_of_onednn_is_refused(configured):
    code, said = configured("OneDnn", "-DFATHOM_ONEDNN=sources")
    assert code == 1 and "FATHOM_ONEDNN=sources: expected wheel or source" in said


def test_libtorch_may_be_any_folder_of_the_prefix_path(configured, tmp_path):
    headers = tmp_path / "torch/include/torch/headeronly"
    headers.mkdir(parents=True)
    version = zip(("MAJOR", "MINOR", "PATCH"), (2, 11, 0))
    lines = (f"#define TORCH_VERSION_{name} {number}\n" for name, number in version)
    (headers / "version.h").write_text("".join(lines))
    (tmp_path / "torch/lib").mkdir()
    (tmp_path / "torch/lib/libtorch_cpu.so").touch()
    code, said = configured("LibTorch", CMAKE_PREFIX_PATH=f"/nothing:{tmp_path}/torch")
    assert code == 0 and f"LibTorch 2.11.0: {tmp_path}/torch" in said


def test_an_mpi_home_without_mpi_is_an_error(configured, tmp_path):
    code, said = configured("Mpi", f"-DMPI_HOME={tmp_path}/nothing")
    assert code == 1 and f"No bin/mpicxx in {tmp_path}/nothing" in said


def test_a_new_mpi_home_is_looked_into(configured, tmp_path):
    for home in (tmp_path / "one", tmp_path / "two"):
        tool(home / "bin/mpicxx", "exit 1")
        tool(home / "bin/mpiexec", "exit 1")
        assert configured("Mpi", f"-DMPI_HOME={home}")[0] == 0
        cache = (tmp_path / "build/CMakeCache.txt").read_text()
        assert f"MPIEXEC_EXECUTABLE:FILEPATH={home}/bin/mpiexec" in cache


def test_the_pinned_mpi_is_found_in_a_folder_with_a_space(configured, tmp_path):
    library = tmp_path / "some deps/mpi"
    library.mkdir(parents=True)
    pins = (ROOT / "cmake/wheels/wheels-mpi.txt").read_bytes()
    (library / hashlib.sha256(pins).hexdigest()).touch()
    (library / "include").mkdir()
    options = ("-DFATHOM_MPI_WHEEL=ON", f"-DFATHOM_DEPS_DIR={tmp_path}/some deps")
    code, said = configured("Mpi", *options)
    assert code == 0 and f"MPI in {library}/lib/libmpi.so" in said
