"""cmake --install, and the start script of the wheel fathom-bench."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import pytest
from torch_python import DEPENDENCIES

from program import MADE_UP_PEAKS, PROGRAM, ROOT, WITH_PEAKS, read_json

BUILD = pathlib.Path(PROGRAM).resolve().parent
NOBODY = "65534"
WHEEL = ROOT / "cmake/wheel/fathom_bench/__init__.py"


@pytest.fixture(scope="module")
def tree():
    """An installed tree without CUDA's libraries, which every user may read."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        for component in ("fathom_bench", "libtorch", "tree"):
            command = ["cmake", "--install", BUILD, "--prefix", folder, "--component", component]
            subprocess.run(command, check=True, capture_output=True, timeout=300)
        yield pathlib.Path(folder)


@pytest.fixture(scope="module")
def moved(tree):
    """Returns a function that runs the program of the tree as another user, without the project and its libraries."""
    if os.geteuid():
        pytest.skip("mounting needs root")
    hidden = " && ".join(f"mount -t tmpfs none '{one}'" for one in (DEPENDENCIES.resolve(), ROOT))
    user = f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups"

    def run(*arguments):
        script = f'{hidden} && cd / && exec {user} "$@"'
        command = ["unshare", "--mount", "sh", "-c", script, "sh", tree / "bin/fathom_bench"]
        return subprocess.run(
            [*command, *arguments], capture_output=True, text=True, timeout=300, cwd="/"
        )

    probe = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    tried = subprocess.run(probe, capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"the kernel refuses unshare: {tried.stderr}")
    return run


def test_the_tree_measures_without_the_project(moved, tree):
    peaks = shutil.copy(MADE_UP_PEAKS, tree)
    with tempfile.TemporaryDirectory(dir=tree) as folder:
        os.chown(folder, int(NOBODY), int(NOBODY))
        out = pathlib.Path(folder) / "out.json"
        row = "--benchmark_filter=^op/matmul/vgg/fc8/forward/"
        result = moved(*WITH_PEAKS, row, f"--fathom_peaks={peaks}", f"--benchmark_out={out}")
        assert result.returncode == 0, result.stderr
        rows = read_json(out)["benchmarks"]
    backends = {one["name"].partition("backend:")[2].partition("/")[0] for one in rows}
    has_onednn = (tree / "lib/fathom_bench/libdnnl.so.3").exists()
    assert "torch" in backends and ("onednn" in backends) == has_onednn


def test_the_tree_names_no_folder_of_this_machine(tree):
    for file in ("fathom_bench", "libfathom_cuda.so"):
        if (path := tree / "lib/fathom_bench" / file).exists():
            dynamic = subprocess.run(["readelf", "-d", path], capture_output=True, text=True).stdout
            (paths,) = re.findall(r"\(RPATH\).*\[(.*)\]", dynamic)
            assert all(one.startswith("$ORIGIN") for one in paths.split(":")), paths


def test_the_tree_holds_documents_and_licences(tree):
    assert (tree / "share/fathom_bench/docs/results.md").exists()
    assert (tree / "share/fathom_bench/LICENSE").exists()


# --- the start script


class Site:
    """A site-packages with the start script, a program that prints how it was started, and made-up packages."""

    def __init__(self, folder):
        self.folder = folder
        self.package("fathom-bench", "0.2.0", "Requires-Dist: torch==2.11.0\n")
        shutil.copy(WHEEL, self.file("fathom_bench/__init__.py"))
        program = self.file("fathom_bench/fathom_bench")
        program.write_text('#!/bin/sh\necho "$@"\necho "$LD_LIBRARY_PATH"\n')
        program.chmod(0o755)

    def file(self, name):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        return path

    def package(self, name, version, lines=""):
        info = self.file(f"{name.replace('-', '_')}-{version}.dist-info/METADATA")
        info.write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{lines}")

    def torch(self, version="2.11.0", libraries=("libcupti", "libcudart")):
        self.package("torch", version)
        self.file("torch/__init__.py").write_text("raise ImportError('imported')\n")
        self.file("torch/lib/libtorch_cuda.so")
        for name in libraries:
            self.file(f"nvidia/cu13/lib/{name}.so.13")

    def start(self, *others):
        paths = [str(self.folder), *(str(one.folder) for one in others)]
        code = f"import sys; sys.path[:0] = {paths}; import fathom_bench; fathom_bench.main()"
        command = [sys.executable, "-I", "-c", code, "--benchmark_filter=vgg"]
        environment = {"LD_LIBRARY_PATH": "/mine"}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path / "site")


def test_the_start_script_runs_the_program_beside_libtorch(site):
    site.torch()
    result = site.start()
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "--benchmark_filter=vgg\n/mine\n"


def test_the_start_script_finds_libtorch_elsewhere(site, tmp_path):
    other = Site(tmp_path / "other")
    other.torch("2.11.0+cu130")
    folder = other.folder
    expected = f"{folder}/torch/lib:{folder}/nvidia/cu13/lib:/mine"
    assert site.start(other).stdout == f"--benchmark_filter=vgg\n{expected}\n"


@pytest.mark.parametrize(
    "version, libraries, found, package",
    [
        (None, (), "has no torch", "torch==2.11.0"),
        ("2.12.0", (), "has torch 2.12.0", "torch==2.11.0"),
        ("2.11.0", ("libcudart",), "has no libcupti", "nvidia-cuda-cupti==13.0.85"),
        ("2.11.0", ("libcupti",), "has no libcudart", "nvidia-cuda-runtime==13.0.96"),
    ],
)
def test_the_start_script_tells_what_is_missing(version, libraries, found, package, site):
    if version:
        site.torch(version, libraries)
    result = site.start()
    assert (result.returncode, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("fathom_bench: ") and found in line
    assert line.endswith(f"{sys.executable} -m pip install {package}")


def test_the_start_script_asks_for_the_pinned_packages():
    pins = "".join(
        path.read_text() for path in sorted((ROOT / "cmake/wheels").glob("wheels-c*.txt"))
    )
    asked = re.findall(
        r'"([\w-]+==[\d.]+)"', WHEEL.read_text() + (ROOT / "pyproject.toml").read_text()
    )
    assert len(asked) == 3 and all(f"{one} " in pins for one in asked)
