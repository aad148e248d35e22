"""--fathom_onednn=libdnnl.so.3 runs rows of backend:onednn on another oneDNN, or says in a line why it cannot."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from program import PROGRAM, WITH_PEAKS, read_json, run

DEFAULT = Path(os.environ["FATHOM_DEPS_DIR"], "onednn/lib/libdnnl.so.3")
ROWS = "--benchmark_filter=^op/matmul/vgg/fc8/forward/.*threads:1/"
LIBRARY = """
struct Version { int major, minor, patch; const char* commit; unsigned cpu, gpu; };
const struct Version* dnnl_version(void) {
  static struct Version version = {MAJOR, 7, 1, "", CPU_RUNTIME, 0};
  return &version;
}
"""
OPENMP, TBB = 2, 4


@pytest.fixture(name="compiled")
def compiler(tmp_path):
    """Compiles a library of C code."""

    def compiled(name, code, *arguments):
        source = tmp_path / f"{name}.c"
        source.write_text(code)
        library = tmp_path / name
        command = ["cc", "-shared", "-fPIC", f"-Wl,-soname,{name}", str(source), "-o", str(library)]
        subprocess.run([*command, *arguments], check=True)
        return library

    return compiled


def onednn(compiled, major, runtime, *arguments):
    """A library that pretends to be a oneDNN."""
    code = LIBRARY.replace("MAJOR", str(major)).replace("CPU_RUNTIME", str(runtime))
    return compiled("libdnnl.so.3", code, "-Wl,--no-as-needed", *arguments)


def refusal(path):
    result = run(ROWS, f"--fathom_onednn={path}")
    assert result.returncode == 2 and result.stdout == ""
    (line,) = result.stderr.splitlines()
    start = f"fathom_bench: --fathom_onednn={path}: "
    assert line.startswith(start)
    return line[len(start) :]


@pytest.fixture(name="default")
def of_the_build():
    if not DEFAULT.exists():
        pytest.skip("the build has another oneDNN than that of the wheel")
    return DEFAULT


def test_rows_run_on_it_and_the_file_names_it(default, tmp_path):
    out = tmp_path / "out.json"
    library = tmp_path / "libdnnl.so.3"
    library.symlink_to(default)
    arguments = [*WITH_PEAKS, ROWS, "--fathom_backend=onednn", f"--benchmark_out={out}"]
    result = run(*arguments, "--fathom_onednn=libdnnl.so.3", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    document = read_json(out)
    assert document["benchmarks"] and "libdnnl.so.3:" in document["context"]["libraries"]
    assert "fathom_onednn" in document["context"]["settings"].split()

    resumed = run(*arguments, "--fathom_resume")
    assert resumed.returncode == 2
    assert "was measured with fathom_onednn" in resumed.stderr


def test_the_version_is_that_of_the_file(default):
    known = run("--version").stdout
    assert run(f"--fathom_onednn={default}", "--version").stdout == known


def test_another_one_in_ld_library_path_is_not_loaded(default, tmp_path):
    shutil.copy(default, tmp_path / "libdnnl.so.3")
    program = [PROGRAM, "--version"]
    environment = os.environ | {"LD_LIBRARY_PATH": str(tmp_path), "LD_DEBUG": "files"}
    result = subprocess.run(program, env=environment, capture_output=True, text=True)
    assert result.returncode == 0
    assert "libdnnl.so.3" in result.stderr and str(tmp_path) not in result.stderr


def test_isolated_rows_run_on_it(default, tmp_path):
    out = tmp_path / "out.json"
    arguments = [*WITH_PEAKS, ROWS, "--fathom_backend=onednn", f"--benchmark_out={out}"]
    result = run(*arguments, f"--fathom_onednn={default}", "--fathom_isolate")
    assert result.returncode == 0, result.stderr
    assert read_json(out)["benchmarks"]


def test_a_missing_file():
    assert refusal("no/libdnnl.so.3") == "No such file or directory"


def test_a_file_that_is_no_library(tmp_path):
    text = tmp_path / "libdnnl.so.3"
    text.write_text("not a library")
    assert refusal(text) == "file too short"


def test_a_cut_file(default, tmp_path):
    cut = tmp_path / "libdnnl.so.3"
    cut.write_bytes(default.read_bytes()[:30_000_000])
    assert refusal(cut).startswith("ended the process that loaded it, with signal")


def test_another_library(compiled):
    library = compiled("libother.so", "int other;")
    assert refusal(library) == "is not oneDNN: it has no function dnnl_version"


def test_another_major_version(compiled):
    assert refusal(onednn(compiled, 2, OPENMP)) == "is oneDNN 2.7.1, expected oneDNN 3"


def test_other_threads(compiled):
    library = onednn(compiled, 3, TBB)
    assert refusal(library) == "oneDNN 3.7.1 runs on TBB, expected a build with OpenMP"


def test_another_openmp(compiled):
    openmp = compiled("libiomp5.so", "int omp_get_max_threads(void) { return 1; }")
    library = onednn(compiled, 3, OPENMP, str(openmp), f"-Wl,-rpath,{openmp.parent}")
    found = refusal(library)
    assert found.startswith(f"oneDNN 3.7.1 uses the OpenMP of {openmp}, expected LibTorch's, ")
    assert "libgomp" in found


def test_a_missing_function(compiled):
    library = onednn(compiled, 3, OPENMP, "-fopenmp")
    assert refusal(library).startswith("oneDNN 3.7.1 lacks the function dnnl_")
