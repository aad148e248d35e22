"""What the environment changes: bound threads, smaller teams, other allocators, and the context's record of it."""

import os
import pathlib

import pytest

from program import MADE_UP_PEAKS, PROGRAM, cores, read_json, run

STEP = "--benchmark_filter=^memnet/infer/"
OP = "--benchmark_filter=^op/matmul/vgg/fc8/forward/.*backend:torch/"
CPU = "--fathom_device=cpu"
WITH_PEAKS = [CPU, "--benchmark_min_time=0.01", "--fathom_machine_check=off"]
PEAKS = f"--fathom_peaks={MADE_UP_PEAKS}"
FAST = [*WITH_PEAKS, PEAKS]
OWN_MALLOC = pathlib.Path(PROGRAM).resolve().parent / "own_malloc.so"
two_cores = pytest.mark.skipif(cores() < 2, reason="one core")
# OpenMP binds the first thread, before main(), where one of these asks for it.
BINDING = [
    {"OMP_PROC_BIND": "close"},
    {"OMP_PLACES": "cores"},
    {"OMP_PROC_BIND": "spread", "OMP_PLACES": "threads"},
    {"GOMP_CPU_AFFINITY": " ".join(map(str, sorted(os.sched_getaffinity(0))))},
]


def context_of(out, *arguments, **variables):
    result = run(*FAST, OP, *arguments, f"--benchmark_out={out}", env=os.environ | variables)
    assert result.returncode == 0, result.stderr
    return read_json(out)["context"]


def failure(*arguments, **variables):
    """The line on stderr of a row that fails."""
    result = run(*FAST, *arguments, env=os.environ | variables)
    assert result.returncode == 4, result.stderr
    (line,) = [line for line in result.stderr.splitlines() if ": failed: " in line]
    return line


# --- bound threads


@pytest.mark.parametrize("variables", BINDING, ids=str)
def test_bound_threads_leave_the_rows_as_they_are(variables):
    arguments = [CPU, STEP, "--benchmark_list_tests"]
    assert run(*arguments, env=os.environ | variables).stdout == run(*arguments).stdout


@two_cores
@pytest.mark.parametrize("isolate", [[], ["--fathom_isolate"]], ids=["here", "own process"])
def test_bound_threads_use_all_cpus(tmp_path, isolate):
    arguments = ["--fathom_threads=2", *isolate]
    context = context_of(tmp_path / "bound.json", *arguments, OMP_PROC_BIND="close")
    cpus = sorted(os.sched_getaffinity(0))
    first, *_, last = cpus
    assert context["affinity"] == (
        f"{first}-{last}" if last - first == len(cpus) - 1 else context["affinity"]
    )
    assert context["openmp"] == "OMP_PROC_BIND=close"


@two_cores
def test_threads_that_share_a_cpu_fail():
    first = str(min(os.sched_getaffinity(0)))
    line = failure(OP, "--fathom_threads=2", GOMP_CPU_AFFINITY=first)
    assert f"threads:2: found a team of 2 threads on CPU {first}, expected 2 CPUs" in line
    assert f"the environment has GOMP_CPU_AFFINITY={first}" in line


# --- teams


@two_cores
@pytest.mark.parametrize("variable", ["OMP_THREAD_LIMIT=1", "OMP_MAX_ACTIVE_LEVELS=0"])
@pytest.mark.parametrize("row", [STEP, OP], ids=["step", "op"])
def test_a_row_on_fewer_threads_than_its_name_says_fails(row, variable):
    line = failure(row, "--fathom_threads=2", **dict([variable.split("=")]))
    assert "threads:2: found a team of 1 thread, expected 2" in line and variable in line


@two_cores
def test_an_unknown_peak_is_left_out(tmp_path):
    out = tmp_path / "out.json"
    limited = os.environ | {"OMP_THREAD_LIMIT": "1"}
    result = run(*WITH_PEAKS, STEP, "--fathom_threads=1,2", f"--benchmark_out={out}", env=limited)
    assert result.returncode == 4
    context = read_json(out)["context"]
    assert "peak_flops_cpu_threads1_fp32" in context
    assert "peak_flops_cpu_threads2_fp32" not in context
    assert "OMP_THREAD_LIMIT=1" in context["openmp"]


# --- variables and versions


def test_the_context_has_the_variables_that_change_times(tmp_path):
    variables = {"ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_CBWR": "AVX2"}
    context = context_of(tmp_path / "out.json", "--fathom_threads=1", **variables)
    assert context["environment"] == "MKL_CBWR=AVX2 ONEDNN_MAX_CPU_ISA=SSE41"
    assert "environment" in context["settings"].split()
    usual = context_of(tmp_path / "usual.json", "--fathom_threads=1")
    assert "ONEDNN" not in usual["environment"]


def test_the_context_names_the_machine(tmp_path):
    context = context_of(tmp_path / "out.json", "--fathom_threads=1", "--fathom_machine_name=lab 3")
    identity = context["machine_identity"].split()
    assert context["machine_name"] == "lab 3" and "machine_name" in identity
    assert context["cpu"] and {"caches", "cpu_capability", "num_cpus", "gpu"} <= set(identity)
    assert not set(identity) & set(context["settings"].split())


# --- malloc


def test_another_malloc_cannot_be_tuned(tmp_path):
    preloaded = os.environ | {"LD_PRELOAD": str(OWN_MALLOC)}
    result = run(*FAST, OP, "--fathom_threads=1", "--fathom_malloc=tuned", env=preloaded)
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert "--fathom_malloc=tuned: malloc is that of own_malloc.so, expected" in result.stderr
    context = context_of(tmp_path / "out.json", "--fathom_threads=1", LD_PRELOAD=str(OWN_MALLOC))
    assert context["allocator"] == "own_malloc.so"


def test_the_usual_malloc_is_the_c_librarys(tmp_path):
    context = context_of(tmp_path / "out.json", "--fathom_threads=1", "--fathom_malloc=tuned")
    assert context["allocator"].startswith("libc.")


# --- Google Benchmark's flags


@pytest.mark.parametrize("typed", ["0.01s", "0.01"])
def test_the_minimum_time_has_a_unit_or_none(typed):
    arguments = [CPU, "--fathom_threads=1", OP, PEAKS, "--fathom_machine_check=off"]
    result = run(*arguments, f"--benchmark_min_time={typed}")
    assert result.returncode == 0 and "suffix" not in result.stderr, result.stderr
