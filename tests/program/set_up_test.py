"""cmake/setup.sh in a scratch project: a copied folder, and tools that do not fit."""

import fcntl
import os
import shutil
import subprocess

import pytest

from program import ROOT


@pytest.fixture
def project(tmp_path):
    """A project with the launcher, whose program prints a word."""
    folder = tmp_path / "a project"
    (folder / "cmake").mkdir(parents=True)
    shutil.copy(ROOT / "cmake/setup.sh", folder / "cmake")
    (folder / "cmake/packages.txt").touch()
    for name in ("fathom_bench", "CMakePresets.json"):
        shutil.copy(ROOT / name, folder)
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(trial LANGUAGES CXX)\n"
        'set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")\n'
        "add_executable(fathom_bench main.cc)\n"
    )
    write_program(folder, "original")
    return folder


def write_program(folder, word):
    (folder / "main.cc").write_text(f'#include <cstdio>\nint main() {{ std::puts("{word}"); }}\n')


def start(folder, **variables):
    environment = os.environ | {"FATHOM_PRESET": "default"} | variables
    command = [folder / "fathom_bench"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def test_a_copied_folder_does_not_run_the_program_of_the_original(project):
    assert start(project).stdout == "original\n"
    copy = project.with_name("a copy")
    shutil.copytree(project, copy, symlinks=True)
    write_program(copy, "copy")
    refused = start(copy)
    assert (refused.returncode, refused.stdout) == (2, "")
    line = refused.stderr.splitlines()[-1]
    assert f"was configured in {project}" in line
    subprocess.run(line.partition("please run: ")[2], shell=True, check=True)
    assert start(copy).stdout == "copy\n"
    assert start(project).stdout == "original\n"


def test_an_old_cmake_is_named(project, tmp_path):
    cmake = tmp_path / "bin/cmake"
    cmake.parent.mkdir()
    cmake.write_text('#!/bin/sh\necho "cmake version 3.22.1"\n')
    cmake.chmod(0o755)
    refused = start(project, PATH=f"{cmake.parent}:{os.environ['PATH']}")
    assert refused.returncode == 2
    assert refused.stderr.startswith("fathom_bench: CMake 3.22.1 is too old: 3.25 or newer")


def test_an_error_of_cmake_is_one_line(project):
    (project / "CMakePresets.json").write_text("{")
    refused = start(project)
    assert refused.returncode == 2
    line = refused.stderr.splitlines()[-1]
    assert line.startswith("fathom_bench: could not configure: Could not read presets")


def test_a_program_that_is_up_to_date_waits_for_no_build(project):
    assert start(project).stdout == "original\n"
    with open(project / "build/lock", "r+", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = start(project)
    assert (found.stdout, found.stderr) == ("original\n", "")


def test_the_process_that_builds_is_named(project):
    assert start(project).returncode == 0
    write_program(project, "changed")
    command = [project / "fathom_bench"]
    environment = os.environ | {"FATHOM_PRESET": "default"}
    with open(project / "build/lock", "r+", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("process 7 (tests/run default)\n")
        lock.flush()
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as waiting:
            line = waiting.stderr.readline()
            fcntl.flock(lock, fcntl.LOCK_UN)
            assert waiting.communicate(timeout=300)[0] == "changed\n"
    assert "waiting for process 7 (tests/run default), which builds in" in line


def test_a_build_names_itself_in_the_lock(project):
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(trial LANGUAGES NONE)\n"
        "add_custom_target(fathom_bench COMMAND cp ../lock . && false)\n"
    )
    assert start(project).returncode == 2
    named = (project / "build/default/lock").read_text()
    assert named.startswith("process ") and named.endswith("/fathom_bench default)\n")


def test_a_build_shows_its_share_and_time(project):
    assert "[2/2, 100%, " in start(project).stderr or " left] " in start(project).stderr
