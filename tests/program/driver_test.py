"""What a start says of an NVIDIA driver that it cannot use, and --fathom_gpu, with a pretended driver."""

import pathlib
import shutil
import subprocess

import pytest

from program import (
    NO_DRIVER,
    ONE_ROW,
    PROGRAM,
    missing_gpu,
    pretended_driver,
    read_json,
    run,
    starts,
)

BUILD = pathlib.Path(PROGRAM).resolve().parent
ANY_DEVICE = [one for one in ONE_ROW if not one.startswith("--fathom_device=")]
GPUS = [f"GPU-a{i}a{i}a{i}a{i}-a{i}a{i}-a{i}a{i}-a{i}a{i}-" + 6 * f"a{i}" for i in range(3)]


def reason_of_this_build(reason):
    """Why a GPU that opens cannot be used: this build or, with all it needs, the pretended driver."""
    library = BUILD / "libfathom_cuda.so"
    if not library.exists():
        return "built without CUDA ("
    if "not found" in subprocess.run(["ldd", library], capture_output=True, text=True).stdout:
        return "libfathom_cuda.so does not load: lib"  # built with a toolkit, for another machine
    return reason


UNUSABLE = {
    "too old": (
        pretended_driver(version=12080),
        "the NVIDIA driver is too old: it supports CUDA 12.8, LibTorch needs CUDA 13; install driver 580 or newer",
    ),
    "does not start": (
        pretended_driver(init=803),
        "the NVIDIA driver does not start (cuInit: CUDA_ERROR_803, a pretended error)",
    ),
    "no GPU": (
        pretended_driver(gpus=0),
        "the NVIDIA driver reports no GPU; nvidia-smi -L must list one",
    ),
    "a hidden GPU": (
        {**pretended_driver(), "CUDA_VISIBLE_DEVICES": "7"},
        'the NVIDIA driver reports no GPU; CUDA_VISIBLE_DEVICES is "7"',
    ),
    "a GPU that is too old": (
        pretended_driver(capability=61),
        "the GPU is too old: Pretended GPU 0 has compute capability 6.1; 7.5 (Turing) or newer is needed",
    ),
    "a GPU that cannot be opened": (
        pretended_driver(capability=75, context=46),
        "the GPU cannot be opened (cuDevicePrimaryCtxRetain: CUDA_ERROR_46, a pretended error)",
    ),
    "a driver that LibTorch cannot use": (
        pretended_driver(),
        "LibTorch cannot use the GPU (CUDA initialization: ",
    ),
}


def expected_reason(case):
    environment, reason = UNUSABLE[case]
    if case == "too old" or reason.startswith("the GPU "):
        built = reason_of_this_build(reason)
        return environment, built if built.startswith("built") else reason
    if case == "a driver that LibTorch cannot use":
        return environment, reason_of_this_build(reason)
    return environment, reason


@pytest.mark.parametrize("case", UNUSABLE)
def test_one_line_says_why_and_cpu_rows_run(case, tmp_path):
    environment, reason = expected_reason(case)
    out = tmp_path / "out.json"
    result = run(*ANY_DEVICE, f"--benchmark_out={out}", env=environment)
    (line,) = [line for line in result.stderr.splitlines() if "no GPU rows" in line]
    assert line.startswith(f"fathom_bench: no GPU rows: {reason}")
    assert result.returncode == 0
    assert "device:cpu" in read_json(out)["benchmarks"][0]["name"]


@pytest.mark.parametrize("case", UNUSABLE)
def test_cuda_by_name_is_an_error(case):
    environment, reason = expected_reason(case)
    result = run("--fathom_device=cuda", env=environment)
    assert (result.returncode, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"fathom_bench: --fathom_device=cuda: {reason}")


def test_isolated_rows_do_not_repeat_the_line(tmp_path):
    result = run(*ANY_DEVICE, "--fathom_isolate", env=pretended_driver(init=803))
    assert result.returncode == 0
    assert result.stderr.count("no GPU rows") == 1


def test_without_a_driver_there_is_no_line():
    if (why := missing_gpu()) != NO_DRIVER:
        pytest.skip(why or "this machine has a GPU")
    result = run(*ANY_DEVICE)
    assert result.returncode == 0
    assert "GPU" not in result.stderr
    result = run("--fathom_device=cuda")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"fathom_bench: --fathom_device=cuda: {NO_DRIVER}\n"


def test_a_gpu_is_found():
    if why := missing_gpu():
        pytest.skip(why)
    result = run("--fathom_device=cuda", "--benchmark_filter=^none$")
    unusable = ("built without CUDA (FATHOM_CUDA=OFF", "built without CUDA (LibTorch in ")
    unusable += ("the NVIDIA driver is too old", "the GPU is too old")
    reason = result.stderr.removeprefix("fathom_bench: --fathom_device=cuda: ")
    assert result.returncode == 3 or reason.startswith(unusable), result.stderr


def test_a_build_without_cuda_says_why():
    found = starts(BUILD / "without_cuda")(env=pretended_driver())
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout == "built without CUDA (a reason; what to do)\n"


def test_a_missing_library_is_named(tmp_path):
    if not (BUILD / "libfathom_cuda.so").exists():
        pytest.skip("built without CUDA")
    program = shutil.copy(PROGRAM, tmp_path / "fathom_bench")
    for library in BUILD.glob("libfathom_onednn.so"):
        shutil.copy(library, tmp_path)

    def link(name, *arguments):
        command = ["c++", "-shared", "-xc++", "/dev/null", "-o", tmp_path / name, *arguments]
        subprocess.run(command, check=True)

    link("libmissing.so.0", "-Wl,-soname,libmissing.so.0")
    link("libfathom_cuda.so", "-xnone", "-Wl,--no-as-needed", tmp_path / "libmissing.so.0")
    (tmp_path / "libmissing.so.0").unlink()
    result = starts(program)(*ANY_DEVICE, env=pretended_driver())
    (line,) = [line for line in result.stderr.splitlines() if "GPU" in line]
    assert line == (
        "fathom_bench: no GPU rows: libfathom_cuda.so does not load: libmissing.so.0: cannot open "
        "shared object file: No such file or directory; configure again, or add the library's "
        "folder to LD_LIBRARY_PATH"
    )
    assert result.returncode == 0


# --- --fathom_gpu


def chosen(tmp_path, gpu, visible=None, parent=None, **answers):
    """CUDA_VISIBLE_DEVICES when the program itself starts the driver, and the program's message."""
    log = tmp_path / "log"
    environment = pretended_driver(gpus=3, log=log, **answers)
    if visible is not None:
        environment["CUDA_VISIBLE_DEVICES"] = visible
    if parent is not None:
        environment["FATHOM_CHOSEN_GPU"] = parent
    result = run(f"--fathom_gpu={gpu}", "--benchmark_list_tests", env=environment)
    assert (result.returncode, result.stdout) == (2, "")  # LibTorch cannot use a pretended GPU
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"fathom_bench: --fathom_gpu={gpu}: ")
    return log.read_text().splitlines()[1:], line


@pytest.mark.parametrize(
    "gpu, visible, expected",
    [
        ("0", None, "0"),
        ("2", None, "2"),
        ("1", "2,0", "0"),
        ("1", f"{GPUS[2]},{GPUS[1]}", GPUS[1]),
        (GPUS[1], None, "1"),
        (GPUS[0].upper(), "2,0", "0"),
        ("GPU-a2", None, "2"),
    ],
)
def test_a_gpu_is_chosen_by_index_or_uuid(gpu, visible, expected, tmp_path):
    environments, _ = chosen(tmp_path, gpu, visible)
    assert set(environments) == {expected}


@pytest.mark.parametrize(
    "gpu, visible", [("3", None), ("-1", None), ("2", "0,1"), (GPUS[2], "1"), ("GPU-b", None)]
)
def test_an_unknown_gpu_is_refused_with_those_found(gpu, visible, tmp_path):
    environments, line = chosen(tmp_path, gpu, visible)
    assert environments == []
    found = [0, 1, 2] if visible is None else [int(one) for one in visible.split(",")]
    gpus = ", ".join(f"{i} {GPUS[gpu]} Pretended GPU {gpu}" for i, gpu in enumerate(found))
    assert line.endswith(f": no such GPU, expected one of: {gpus}")


def test_an_ambiguous_uuid_is_refused(tmp_path):
    assert (
        ": the UUIDs of several GPUs begin with this, expected one of: 0 GPU-a0"
        in chosen(tmp_path, "GPU-a")[1]
    )


def test_a_rank_that_the_program_starts_keeps_its_gpu(tmp_path):
    """--fathom_gpu=2 --fathom_ranks=2: the rank gets the same arguments, and sees one GPU."""
    environments, _ = chosen(tmp_path, "2", visible="2", parent="2")
    assert set(environments) == {"2"}


MIG = [one.replace("GPU", "MIG") for one in GPUS]


@pytest.mark.parametrize(
    "typed, visible, expected",
    [
        (MIG[2], None, MIG[2]),
        (MIG[2].upper(), None, MIG[2]),
        (MIG[2], MIG[0], MIG[2]),
        ("MIG-a0", None, MIG[0]),
    ],
)
def test_a_mig_instance_is_chosen_by_its_uuid(typed, visible, expected, tmp_path):
    """The driver lists one of three."""
    environments, _ = chosen(tmp_path, typed, visible, mig=1)
    assert set(environments) == {expected}


def test_an_unknown_mig_instance_is_refused_with_the_one_found(tmp_path):
    _, line = chosen(tmp_path, MIG[2].replace("a2a2a2a2-", "a9a9a9a9-"), mig=1)
    assert line.endswith(f": no such GPU, expected one of: 0 {GPUS[0]} Pretended GPU 0")


def test_a_gpu_needs_the_device(tmp_path):
    result = run("--fathom_gpu=0", "--fathom_device=cpu", env=pretended_driver())
    assert (result.returncode, result.stdout) == (2, "")
    assert "--fathom_gpu=0: needs cuda in --fathom_device" in result.stderr


def test_a_gpu_without_a_driver_is_an_error():
    result = run("--fathom_gpu=0", env=pretended_driver(init=803))
    assert (result.returncode, result.stdout) == (2, "")
    assert "--fathom_gpu=0: the NVIDIA driver does not start" in result.stderr
