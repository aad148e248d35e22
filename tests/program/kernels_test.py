"""--fathom_kernels: steps and ops on a user's kernels, in processes of their own, and libraries with faults."""

import copy
import json
import pathlib
import re
import shutil
import subprocess

import pytest

from program import (
    FAULTY_KERNELS,
    MADE_UP_PEAKS,
    PROGRAM,
    QUICK,
    ROOT,
    cores,
    read_json,
    run,
    strict_json,
)

STEP = "autoenc/train/device:cpu/threads:1/batch:4/precision:fp32/backend:"
OP = "op/matmul/autoenc/mean/forward/device:cpu/threads:1/precision:fp32/cache:hot/backend:"
ROWS = [*QUICK, "--fathom_batch=4", f"--benchmark_filter=^({STEP}|{OP}(torch|[a-z]*)/)"]
SUFFIX = "/process_time/real_time"


@pytest.fixture(name="library", scope="module")
def library_with_a_fault(tmp_path_factory):
    """Returns a function that makes a library with a fault and returns its path."""
    folder = tmp_path_factory.mktemp("kernels")

    def made(fault):
        return shutil.copy(FAULTY_KERNELS, folder / f"lib{fault}.so")

    return made


def measured(out):
    return {row["name"].removesuffix(SUFFIX): row for row in read_json(out)["benchmarks"]}


def test_steps_and_ops_run_on_the_library_beside_torch(tmp_path, library):
    out = tmp_path / "out.json"
    result = run(*ROWS, f"--fathom_kernels={library('none')}", f"--benchmark_out={out}")
    assert result.returncode == 0, result.stderr
    rows = measured(out)
    assert {name for name in rows if "onednn" not in name} == {
        row + backend for row in (STEP, OP) for backend in ("torch", "none")
    }
    for row in (STEP, OP):
        assert rows[row + "none"]["label"] == "replaced:addmm"
        assert "label" not in rows[row + "torch"]
    assert "Overriding" not in result.stderr, "LibTorch's warning of a replaced kernel"


def test_backend_selects_the_library(tmp_path, library):
    out = tmp_path / "out.json"
    result = run(
        *ROWS,
        f"--fathom_kernels={library('none')}",
        "--fathom_backend=none",
        f"--benchmark_out={out}",
    )
    assert result.returncode == 0, result.stderr
    assert set(measured(out)) == {STEP + "none", OP + "none"}


@pytest.mark.parametrize("isolate", ["", "--fathom_isolate=false"])
def test_what_a_library_prints_is_not_part_of_the_json(library, isolate):
    rows = [*ROWS[:-1], f"--benchmark_filter=^{OP}prints_at_load"]
    library = f"--fathom_kernels={library('prints_at_load')}"
    result = run(*rows, library, "--benchmark_format=json", *filter(None, [isolate]))
    assert result.returncode == 0, result.stderr
    assert len(strict_json(result.stdout)["benchmarks"]) == 1
    assert "a line of the library" in result.stderr


@pytest.mark.parametrize("library_of", ["unused", "overload"])
def test_a_step_that_calls_none_of_its_operators_is_left_out(tmp_path, library, library_of):
    out = tmp_path / "out.json"
    result = run(*ROWS, f"--fathom_kernels={library(library_of)}", f"--benchmark_out={out}")
    assert result.returncode == 0, result.stderr
    assert STEP + library_of not in measured(out) and STEP + "torch" in measured(out)
    (line,) = [line for line in result.stderr.splitlines() if "left out" in line]
    assert line.startswith("fathom_bench: left out ") and "--fathom_keep_unreplaced" in line
    assert f"in which backend:{library_of} replaces nothing ({STEP}{library_of})" in line
    assert not pathlib.Path(f"{out}.errors.jsonl").exists()


@pytest.mark.parametrize("isolated", [[], ["--fathom_isolate=false"]])
def test_a_run_of_rows_that_are_left_out_measures_nothing(library, isolated):
    only = [*QUICK, "--fathom_batch=4", f"--benchmark_filter=^{STEP}unused"]
    result = run(*only, *isolated, f"--fathom_kernels={library('unused')}")
    assert result.returncode == 3
    assert "left out 1 row in which backend:unused replaces nothing" in result.stderr


def test_a_step_that_calls_none_of_its_operators_is_kept_on_request(tmp_path, library):
    out = tmp_path / "out.json"
    options = [f"--fathom_kernels={library('unused')}", "--fathom_keep_unreplaced"]
    result = run(*ROWS, *options, f"--benchmark_out={out}")
    assert result.returncode == 0, result.stderr
    assert measured(out)[STEP + "unused"]["label"] == "replaced:nothing"
    assert "left out" not in result.stderr


def test_other_backends_exclude_no_library(tmp_path, library):
    out = tmp_path / "out.json"
    options = [f"--fathom_kernels={library('none')}", "--fathom_backend=torch"]
    result = run(*ROWS, *options, f"--benchmark_out={out}")
    assert result.returncode == 0, result.stderr
    assert set(measured(out)) == {row + on for row in (STEP, OP) for on in ("torch", "none")}


@pytest.mark.parametrize("rows", ["^fixture/atari_step", f"^{STEP}torch", "^op/softmax/memnet"])
def test_a_filter_without_rows_of_the_library_is_a_line(library, rows):
    path = library("none")
    only = [*QUICK, f"--benchmark_filter={rows}", "--fathom_batch=4", f"--fathom_kernels={path}"]
    result = run(*only)
    assert result.returncode == 0
    lines = [line for line in result.stderr.splitlines() if "no row that runs" in line]
    kept = [line for line in lines if "--fathom_kernels" in line]
    assert kept == [
        f"fathom_bench: --fathom_kernels={path}: no row that runs has backend:none; "
        f"--benchmark_filter={rows} leaves those out"
    ]


def test_isolated_rows_of_others_do_not_miss_the_library(library):
    result = run(*ROWS, "--fathom_isolate", f"--fathom_kernels={library('none')}")
    assert result.returncode == 0 and "no row that runs" not in result.stderr


@pytest.mark.parametrize(
    "fault, of_step, of_op",
    [
        ("wrong", "in step 1 the loss differs by ", "differs"),
        ("crashes", "signal 11 (Segmentation fault)", "signal 11 (Segmentation fault)"),
    ],
)
def test_a_faulty_kernel_fails_its_rows_only(tmp_path, library, fault, of_step, of_op):
    out = tmp_path / "out.json"
    result = run(*ROWS, f"--fathom_kernels={library(fault)}", f"--benchmark_out={out}")
    assert result.returncode == 4
    failures = dict(
        line.split(f"{SUFFIX}: failed: ") for line in result.stderr.splitlines() if "failed" in line
    )
    assert set(failures) == {STEP + fault, OP + fault}
    assert of_step in failures[STEP + fault] and of_op in failures[OP + fault]
    assert {STEP + "torch", OP + "torch"} <= set(measured(out))


@pytest.mark.parametrize(
    "path, message",
    [
        ("mine.so", "expected a file name lib<name>.so"),
        ("libmy kernel.so", "the name my kernel has characters other than"),
        ("libonednn.so", "the name onednn is that of another backend"),
        ("libtuned.so", "the name tuned is that of another backend"),
    ],
)
def test_a_name_that_cannot_be_used_is_one_line(tmp_path, path, message):
    assert message in refusal(shutil.copy(FAULTY_KERNELS, tmp_path / path))


@pytest.mark.parametrize(
    "path", ["/nonexistent/libmine.so", "no/file.so", "no/mine", "libonednn.so"]
)
def test_a_missing_file_is_missing_under_any_name(path):
    assert refusal(path).endswith(": No such file or directory")


@pytest.mark.parametrize(
    "fault, message",
    [
        ("registers_nothing", "registers no kernel for an operator of LibTorch"),
        ("misfits", "cannot be loaded: "),
        ("crashes_at_load", "signal 11 (Segmentation fault)"),
        ("exits_at_load", "ended the process that loaded it, with exit code 0"),
    ],
)
def test_a_library_that_cannot_be_used_is_one_line(library, fault, message):
    assert message in refusal(library(fault))


def test_a_file_that_is_no_library_is_one_line(tmp_path):
    text = tmp_path / "libtext.so"
    text.write_text("not a library")
    assert "cannot be loaded: " in refusal(text)


def refusal(path):
    result = run(*ROWS, f"--fathom_kernels={path}")
    assert result.returncode == 2 and result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"fathom_bench: --fathom_kernels={path}: ")
    return line


@pytest.mark.parametrize("other", ["--fathom_study=fathom", f"--fathom_record={ROOT}"])
def test_not_together_with(other, tmp_path, library):
    result = run(
        f"--fathom_kernels={library('none')}", other, f"--benchmark_out={tmp_path / 'out.json'}"
    )
    assert result.returncode == 2
    assert f"--fathom_kernels: not together with {other.split('=')[0]}, " in result.stderr


def test_unknown_backends_are_refused_with_the_known_ones(library):
    result = run(*ROWS, f"--fathom_kernels={library('none')}", "--fathom_backend=mine")
    assert result.returncode == 2
    assert (
        "mine not in {torch,onednn,cublas,cudnn,native,tuned,torch_packed,inductor,none}"
        in result.stderr
    )


def test_in_this_process_it_runs_alone(tmp_path, library):
    refused = run(*ROWS, f"--fathom_kernels={library('none')}", "--fathom_isolate=false")
    assert refused.returncode == 2
    assert "expected a filter that matches no other row" in refused.stderr
    out = tmp_path / "out.json"
    alone = [f"--benchmark_filter=^{STEP}none", "--fathom_isolate=false"]
    result = run(
        *QUICK,
        "--fathom_batch=4",
        *alone,
        f"--fathom_kernels={library('none')}",
        f"--benchmark_out={out}",
    )
    assert result.returncode == 0, result.stderr
    assert measured(out)[STEP + "none"]["label"] == "replaced:addmm"


def test_a_tuned_step_in_this_process_needs_its_options():
    step = [
        *QUICK,
        "--fathom_batch=4",
        f"--benchmark_filter=^{STEP}tuned",
        "--fathom_isolate=false",
    ]
    refused = run(*step, "--fathom_backend=tuned")
    assert refused.returncode == 2 and "tuned needs --fathom_malloc=tuned" in refused.stderr
    options = ["--fathom_malloc=tuned", "--fathom_mkl=native"]
    assert run(*step, "--fathom_backend=tuned", *options).returncode == 0


@pytest.mark.parametrize("backends", [(), ("--fathom_backend=onednn",)])
def test_explain_lists_the_library(tmp_path, library, backends):
    out = tmp_path / "out.json"
    explain = [*QUICK, "--fathom_explain=autoenc/infer", f"--benchmark_out={out}", *backends]
    result = run(*explain, f"--fathom_kernels={library('none')}")
    assert result.returncode == 0, result.stderr
    (explanation,) = read_json(f"{out}.explain.json")["explanations"]
    products = [
        op
        for line in explanation["lines"]
        for op in line["ops"]
        if (op["type"], op["pass"]) == ("matmul", "forward")
    ]
    assert products and all(op["hot_us"]["none"] > 0 for op in products)


def test_the_example_takes_no_other_libtorch_than_the_one_named(tmp_path):
    wrong = f"-DTorch_ROOT={tmp_path}/nothing"
    command = ["cmake", "-S", ROOT / "examples/my_kernel", "-B", tmp_path / "build", wrong]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 1
    assert f"No lib/libtorch_cpu.so in '{tmp_path}/nothing'" in " ".join(result.stderr.split())


@pytest.fixture(name="examples", scope="module")
def built_examples(tmp_path_factory):
    """The folder of libmy_kernel.so and libmy_product.so."""
    folder = tmp_path_factory.mktemp("examples")
    source = ROOT / "examples/my_kernel"
    subprocess.run(
        ["cmake", "-S", source, "-B", folder, f"-DTorch_ROOT={torch()}"],
        check=True,
        capture_output=True,
    )
    subprocess.run(["cmake", "--build", folder], check=True, capture_output=True)
    return folder


def test_the_example_multiplies_in_whole_models(tmp_path, examples):
    out = tmp_path / "out.json"
    steps = ["autoenc/train", "memnet/train"]
    result = run(
        *[*QUICK, "--fathom_batch=2"],
        f"--benchmark_filter=^({'|'.join(steps)}|op/matmul/autoenc)/.*my_product",
        f"--fathom_kernels={examples / 'libmy_product.so'}",
        f"--benchmark_out={out}",
    )
    assert result.returncode == 0, result.stderr
    labels = {name.split("/device")[0]: row["label"] for name, row in measured(out).items()}
    assert all("mm" in label for label in labels.values()) and len(labels) > len(steps)
    assert labels["autoenc/train"].split()[-1] == "replaced:addmm,mm"


def test_the_example_pools_in_whole_models(tmp_path, examples):
    out = tmp_path / "out.json"
    steps = "alexnet/train|inception_v3/infer"
    ops = "op/max_pool/(alexnet/conv[25]|inception_v3/(body_10|top)_[^/]*)"
    result = run(
        *["--fathom_device=cpu", "--benchmark_min_time=0.01", "--fathom_batch=2"],
        f"--fathom_peaks={MADE_UP_PEAKS}",
        f"--fathom_threads={','.join(map(str, sorted({1, cores()})))}",
        # Steps on all cores would wait for the tests that run beside this one.
        f"--benchmark_filter=^(({steps})/.*threads:1/|{ops}/.*threads:{cores()}/).*my_kernel",
        f"--fathom_kernels={examples / 'libmy_kernel.so'}",
        f"--benchmark_out={out}",
    )
    assert result.returncode == 0, result.stderr
    rows = measured(out)
    assert {name.split("/device")[0] for name in rows if name[:3] != "op/"} == set(steps.split("|"))
    assert len(rows) > 4
    assert {row["label"].split()[-1] for name, row in rows.items() if "/backward/" not in name} == {
        "replaced:max_pool2d_with_indices"
    }


@pytest.mark.parametrize(
    "step, backend",
    [
        ("alexnet/train", "onednn"),  # on tuned: in the tests of choices
        ("residual/train", "onednn"),
        ("residual/train", "tuned"),
        ("seq2seq/train", "onednn"),
        ("seq2seq/train", "tuned"),
    ],
)
def test_whole_steps_run_on_other_kernels(tmp_path, step, backend):
    out = tmp_path / "out.json"
    options = [f"--fathom_backend={backend}", "--fathom_batch=2", f"--benchmark_filter=^{step}/"]
    result = run(*QUICK, *options, f"--benchmark_out={out}")
    assert result.returncode == 0, result.stderr
    ((name, row),) = measured(out).items()
    assert name.endswith(f"/backend:{backend}")
    assert "replaced:" in row["label"]
    if backend == "onednn":
        assert ("convolution" in row["label"]) == (step != "seq2seq/train")
    else:
        (choice,) = read_json(f"{out}.kernels.json")["rows"]
        assert choice["choice_seconds"] > 0


def tuned(tmp_path, *options):
    """The row of a tuned step and what it chose."""
    out = tmp_path / "out.json"
    step = ["--fathom_backend=tuned", "--fathom_batch=2", "--benchmark_filter=^alexnet/train/"]
    result = run(*QUICK, *step, *options, f"--benchmark_out={out}")
    assert result.returncode == 0, result.stderr
    ((name, row),) = measured(out).items()
    choices = read_json(f"{out}.kernels.json")
    (choice,) = choices["rows"]
    assert choice["name"] == name
    warnings = [line for line in result.stderr.splitlines() if "holds no choice" in line]
    return row, choices, warnings


@pytest.fixture(scope="module")
def choosing(tmp_path_factory):
    """The row of a step that chose its kernels, and its choice, for which an empty file was given."""
    folder = tmp_path_factory.mktemp("choosing")
    empty = folder / "empty.json"
    empty.write_text('{"rows": []}')
    return tuned(folder, f"--fathom_kernel_choice={empty}")


def test_a_choice_is_recorded_and_repeated(tmp_path, choosing):
    row, choices, _ = copy.deepcopy(choosing)
    (choice,) = choices["rows"]
    assert "replaced:" in row["label"]
    assert choice["choice_seconds"] > 0
    assert (choice["layout"] == "channels_last") == ("channels_last" in row["label"])
    # An operator that saves too little stays LibTorch's at each shape.
    replaced = {one["op"] for one in choice["kernels"] if one["kernel"] != "torch"}
    for one in choice["kernels"]:
        fastest = min(one["us"], key=one["us"].get) if one["op"] in replaced else "torch"
        assert one["kernel"] == fastest and one["calls"] > 0
    timed = {one["op"] for one in choice["kernels"] if len(one["us"]) > 1}
    assert {"addmm", "convolution", "convolution_backward", "max_pool2d_with_indices"} <= timed

    choice["layout"] = {"contiguous": "channels_last"}.get(choice["layout"], "contiguous")
    other = tmp_path / "other.json"
    other.write_text(json.dumps(choices))
    changed, _, _ = tuned(tmp_path, f"--fathom_kernel_choice={other}")
    assert ("channels_last" in changed["label"]) == (choice["layout"] == "channels_last")

    for one in choice["kernels"]:
        one["kernel"] = "torch"
    other.write_text(json.dumps(choices))
    row, repeated, warnings = tuned(tmp_path, f"--fathom_kernel_choice={other}")
    assert "replaced:nothing" in row["label"] and not warnings
    assert repeated["rows"][0]["choice_seconds"] == 0


def test_a_choice_that_the_step_cannot_run_is_named(tmp_path, choosing):
    _, choices, _ = copy.deepcopy(choosing)
    (choice,) = choices["rows"]
    edited = next(one for one in choice["kernels"] if one["op"] == "addmm")
    choice["kernels"] = [edited | {"call": "float[1]", "kernel": "onednn"}]
    other = tmp_path / "other.json"
    other.write_text(json.dumps(choices))
    result = run(
        *QUICK,
        *["--fathom_backend=tuned", "--fathom_batch=2", "--benchmark_filter=^alexnet/train/"],
        f"--fathom_kernel_choice={other}",
    )
    assert result.returncode == 0, result.stderr
    expected = "the step does not run 1 of 1 kernels of its choice, the first is addmm float[1] on"
    assert expected in result.stderr


def test_a_row_without_a_recorded_choice_chooses_and_says_so(choosing):
    _, choices, warnings = choosing
    assert choices["rows"][0]["choice_seconds"] > 0
    (warning,) = warnings
    assert "holds no choice for alexnet/train/" in warning


def test_a_file_without_choices_is_refused(tmp_path):
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"rows": 1}')
    result = run("--fathom_backend=tuned", f"--fathom_kernel_choice={wrong}")
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr == (
        f'fathom_bench: --fathom_kernel_choice={wrong}: "rows" is 1, expected a list\n'
    )


def test_explain_shows_what_tuned_chose(tmp_path):
    out, empty = tmp_path / "out.json", tmp_path / "empty.json"
    empty.write_text('{"rows": []}')
    explain = ["--fathom_explain=autoenc/train", "--fathom_backend=onednn,tuned"]
    explain.append(f"--fathom_kernel_choice={empty}")  # of which the step on oneDNN knows nothing
    result = run(*QUICK, *explain, f"--benchmark_out={out}")
    assert result.returncode == 0, result.stderr
    (explanation,) = read_json(f"{out}.explain.json")["explanations"]
    onednn, other = explanation["others"]
    assert onednn["backend"] == "onednn" and other["backend"] == "tuned"
    assert other["pct_of_step"] == pytest.approx(100 * other["step_us"] / explanation["step_us"])
    text = result.stdout
    assert "\nthe step on other kernels" in text and "\ntuned: contiguous; of " in text
    backends = {one for line in explanation["lines"] for op in line["ops"] for one in op["hot_us"]}
    assert backends >= {"torch", "onednn", "native"}, "the backends of steps select no ops"


def torch():
    """The LibTorch of the tested program."""
    libraries = subprocess.run(["ldd", PROGRAM], check=True, capture_output=True, text=True).stdout
    library = re.search(r"libtorch_cpu.so => (.*) \(0x", libraries)[1]
    return pathlib.Path(library).parent.parent
