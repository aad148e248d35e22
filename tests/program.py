"""Runs the built program and reads its files, for tests."""

import ctypes
import functools
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback

import results_schema

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("FATHOM_BENCH", str(ROOT / "build/default/fathom_bench"))

FAULTY_KERNELS = pathlib.Path(PROGRAM).resolve().parent / "faulty_kernels.so"

MADE_UP_PEAKS = pathlib.Path(__file__).resolve().parent / "program/made_up_peaks.json"

# Options for quick runs: a row takes milliseconds, a run about one second. Peaks take longer to measure.
WITH_PEAKS = ["--fathom_device=cpu", "--fathom_threads=1", "--benchmark_min_time=0.01"]
QUICK = [*WITH_PEAKS, f"--fathom_peaks={MADE_UP_PEAKS}"]
ONE_ROW = [*QUICK, "--benchmark_filter=^op/matmul/vgg/fc8/forward/.*backend:torch/"]
WITHOUT_GPU = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}

NO_DRIVER = "no NVIDIA driver (libcuda.so.1 not found)"
NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE


def missing_gpu():
    """Why there is no GPU, in the program's words; empty if there is one. Asks the driver, not the program."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return NO_DRIVER
    error = driver.cuInit(0)
    if error not in (0, NO_DEVICE):
        return f"the NVIDIA driver does not start (cuInit: error {error})"
    count = ctypes.c_int()
    driver.cuDeviceGetCount(ctypes.byref(count))
    return "" if count.value else "the NVIDIA driver reports no GPU"


def pretended_driver(**answers):
    """The environment in which tests/fixtures/fake_cuda_driver.cc is the NVIDIA driver, with its answers."""
    environment = {key: value for key, value in os.environ.items() if "CUDA_VISIBLE" not in key}
    folder = pathlib.Path(PROGRAM).resolve().parent / "tests/fake_driver"
    path = ":".join(filter(None, [str(folder), os.environ.get("LD_LIBRARY_PATH")]))
    answers = {f"FAKE_CUDA_{key.upper()}": str(value) for key, value in answers.items()}
    return {**environment, "LD_LIBRARY_PATH": path, **answers}


def starts(program):
    """Returns a function that runs `program` and returns its CompletedProcess with text output."""

    def run_program(*arguments, **options):
        command = [program, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)

    return run_program


run = starts(PROGRAM)


@functools.cache
def cores():
    """The number of cores that the program may use: a container may limit them."""
    refused = run("--fathom_threads=4096").stderr
    return int(re.search(r"expected 1 to (\d+)", refused)[1])


RECORDED_RUNS = sorted(
    path for end in ("json", "json.gz") for path in (ROOT / "results/runs").rglob(f"*.{end}")
)

# The programs in results/: every file there that can be executed.
PROGRAMS = sorted(
    path.name
    for path in (ROOT / "results").iterdir()
    if path.is_file() and os.access(path, os.X_OK)
)


def forks(name):
    """Returns a function that runs results/`name` in a fork of this process and returns its CompletedProcess.

    Starting Python with pandas and SciPy takes longer than most tests. Calls with options of subprocess.run() and those in
    a Python without pandas start the program itself.
    """
    start = starts(ROOT / "results" / name)

    def run_program(*arguments, **options):
        if options or not importlib.util.find_spec("pandas"):
            return start(*arguments, **options)
        for library in ("matplotlib.figure", "pandas", "scipy.stats"):
            importlib.import_module(library)
        arguments = [f"results/{name}", *map(str, arguments)]
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
            child = os.fork()
            if child == 0:
                become(name, arguments, output, errors)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            output.seek(0)
            errors.seek(0)
            return subprocess.CompletedProcess(arguments, code, output.read(), errors.read())

    return run_program


def become(name, arguments, output, errors):
    """Runs results/`name` in this process, which it ends."""
    code = 70  # no program has it
    try:
        os.dup2(output.fileno(), 1)
        os.dup2(errors.fileno(), 2)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)
        sys.argv = arguments
        for module in [module for module in sys.modules if module.startswith("fathom_")]:
            del sys.modules[module]  # with what its functions remember
        importlib.import_module("fathom_runs.program").run_package(f"fathom_{name}")
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


ab, compare, export, gate, history, predict, report = map(
    forks, ("ab", "compare", "export", "gate", "history", "predict", "report")
)


def refusals(name):
    """Returns a function that runs results/`name` with wrong input and returns its one-line error."""

    def refusal(*arguments):
        result = forks(name)(*arguments)
        assert result.returncode == 2, result.stdout + result.stderr
        assert result.stdout == "" and len(result.stderr.splitlines()) == 1, result.stderr
        assert result.stderr.startswith(f"{name}: ") and "expected" in result.stderr
        return result.stderr

    return refusal


def strict_json(text):
    """Parses JSON as strictly as dashboards do: no NaN, no Infinity, no duplicate keys."""

    def fail(word):
        raise ValueError(f"{word} is not JSON")

    def unique_keys(items):
        keys = [key for key, _ in items]
        assert len(keys) == len(set(keys)), f"duplicate key in {keys}"
        return dict(items)

    return json.loads(text, parse_constant=fail, object_pairs_hook=unique_keys)


def read_json(path):
    """Parses a file strictly. Where Python has jsonschema, our results must fit docs/schema.json."""
    value = strict_json(pathlib.Path(path).read_text())
    if "fathom_version" in value.get("context", ()) and results_schema.validator():
        assert not (found := results_schema.faults(value)), f"{path}: {found[0]}"
    return value
