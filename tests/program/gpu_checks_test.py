"""tests/gpu, with pretended checks instead of a GPU."""

import fnmatch
import importlib.machinery
import importlib.util
import json
import pathlib
import re
import sys

import pytest

from batches import GoogleTest
from driver_test import UNUSABLE
from gpu_checks import CHECKS, SQUARE, Check, arguments_of, has_gpu_state, not_skipped, reaches_peak
from program import NO_DRIVER, PROGRAM, ROOT, WITHOUT_GPU, pretended_driver, run, starts

TOTAL_SECONDS = 27 * 60
NAMES = {"root": ROOT, "out": "out", "python": "python3", "program": PROGRAM, "tests": "tests"}
# What a row on a GPU may take, with its set-up and its check, and the start of a process.
OP_SECONDS, STEP_SECONDS, PROCESS_SECONDS = 0.6, 4, 8


@pytest.fixture
def gpu(monkeypatch):
    """tests/gpu as a module that finds a GPU and a built program."""
    loader = importlib.machinery.SourceFileLoader("gpu", str(ROOT / "tests/gpu"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu", loader))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader.exec_module(module)
    monkeypatch.setattr(module, "missing_gpu", lambda: "")
    monkeypatch.setenv("FATHOM_BENCH", "/bin/sh")

    def main(checks, *arguments):
        monkeypatch.setattr(module, "CHECKS", checks)
        monkeypatch.setattr(sys, "argv", ["gpu", *map(str, arguments)])
        return module.main()

    return main


def script(tmp_path, text):
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.sh"
    path.write_text(text)
    return "{program} " + str(path)


@pytest.mark.parametrize(
    "environment, reason",
    [
        (WITHOUT_GPU, "no NVIDIA driver (libcuda.so.1 not found)|the NVIDIA driver reports no GPU"),
        (pretended_driver(gpus=0), "the NVIDIA driver reports no GPU"),
        (pretended_driver(init=803), "the NVIDIA driver does not start (cuInit: error 803)"),
    ],
)
def test_without_a_gpu_it_says_so_in_one_line(environment, reason, tmp_path):
    result = starts(ROOT / "tests/gpu")("--out", tmp_path / "out", env=environment)
    assert result.returncode == 2
    assert result.stderr in [f"gpu: {one}; nothing was run\n" for one in reason.split("|")]
    assert not (tmp_path / "out").exists()


def test_the_page_names_what_failed_and_why(gpu, tmp_path):
    out = tmp_path / "out"
    checks = [
        Check("good", "works", 20, (script(tmp_path, "echo fine"),)),
        Check("bad", "fails", 20, (script(tmp_path, "echo cuDNN is missing >&2; exit 4"),)),
        Check("slow", "hangs", 1, (script(tmp_path, "echo begun; sleep 60"),)),
        Check("wrong", "lies", 20, (script(tmp_path, "true"),), lambda folder, output: "no rows"),
        Check("early", "measures", 1, (script(tmp_path, "sleep 60"),), may_end_early=True),
        Check("python", "needs a module", 20, (script(tmp_path, "exit 1"),), module="no_such_module"),
    ]  # fmt: skip
    assert gpu(checks, "--out", out) == 1
    page = (out / "README.md").read_text()
    assert "3 of 6 checks failed" in page
    assert "**bad** ([log](bad.log)): exit code 4: cuDNN is missing" in page
    assert "**slow** ([log](slow.log)): longer than 1 s: begun" in page
    assert "**wrong** ([log](wrong.log)): no rows" in page
    assert re.search(r"\| early \| measures \| passed \|", page)
    assert re.search(r"\| python \| needs a module \| skipped: .* no_such_module \|", page)


def test_a_check_of_several_processes_keeps_the_output_of_each_and_fails_with_one(gpu, tmp_path):
    text = 'echo "$GTEST_SHARD_INDEX of $GTEST_TOTAL_SHARDS"; exit $((GTEST_SHARD_INDEX == {} ? 3 : 0))'
    out = tmp_path / "out"
    checks = [
        Check("good", "", 9, (script(tmp_path, text.format(9)),), shards=3),
        Check("bad", "", 9, (script(tmp_path, text.format(1)),), shards=3),
        Check("slow", "", 1, (script(tmp_path, "echo begun; sleep 60"),), shards=2),
    ]
    assert gpu(checks, "--out", out) == 1
    _, *lines = (out / "good.log").read_text().splitlines()
    assert lines == ["0 of 3", "1 of 3", "2 of 3"]
    results = json.loads((out / "checks.json").read_text())
    assert [one["result"] for one in results.values()] == ["passed", "failed", "failed"]
    assert results["bad"]["why"].startswith("exit code 3")
    assert results["slow"]["why"] == "longer than 1 s: begun"


def test_a_check_that_runs_again_replaces_its_result_only(gpu, tmp_path):
    broken = script(tmp_path, "exit 1")
    good = script(tmp_path, "true")
    out = tmp_path / "out"
    assert gpu([Check("a", "", 9, (broken,)), Check("b", "", 9, (broken,))], "--out", out) == 1
    checks = [Check("a", "", 9, (good,)), Check("b", "", 9, (good,))]
    assert gpu(checks, "--out", out, "--only", "b") == 1
    assert "1 of 2 checks failed" in (out / "README.md").read_text()
    assert gpu(checks, "--out", out, "--only", "a") == 0


def test_the_checks_name_options_that_exist():
    options = set(re.findall(r"--fathom_\w+", run("--help").stdout))
    assert CHECKS
    for check in CHECKS:
        for command in check.commands:
            used = {word.split("=")[0] for word in arguments_of(command, NAMES)}
            assert {word for word in used if word.startswith("--fathom_")} <= options, check.name


def runs():
    """The checks that time chosen rows in a limited time, with the words of each command."""
    for check in CHECKS:
        for command in check.commands:
            if check.limit and "--benchmark_filter" in command:
                yield pytest.param(check, command, id=check.name)


def test_all_limits_together_are_kept():
    assert sum(check.limit for check in CHECKS) < TOTAL_SECONDS


@pytest.mark.parametrize("check, command", runs())
def test_a_check_has_rows_and_they_fit_into_its_limit(check, command, tmp_path):
    (tmp_path / "square_shapes.json").write_text(json.dumps(SQUARE))
    words = arguments_of(command, NAMES | {"out": tmp_path})
    listed = starts(words[0])(*words[1:], "--benchmark_list_tests", env=WITHOUT_GPU)
    assert listed.returncode == 0, listed.stderr
    rows = listed.stdout.splitlines()
    assert rows and all("/device:cuda/" in row for row in rows)
    if "{precisions}" in command:
        assert {re.search(r"/precision:(\w+)/", row)[1] for row in rows} == {"fp32", "tf32", "bf16"}
    seconds = sum(OP_SECONDS if row.startswith("op/") else STEP_SECONDS for row in rows)
    seconds += PROCESS_SECONDS * (len(rows) if "--fathom_isolate" in command else 1)
    assert seconds <= check.limit


def test_each_test_that_asks_for_a_gpu_is_in_a_check():
    asks = re.compile(r"unavailable_reason\(\s*(fixtures::)?Device::kCuda")
    expected = {
        str(path.relative_to(ROOT / "tests"))
        for path in (ROOT / "tests").rglob("*_test.cc")
        if asks.search(path.read_text())
    }
    assert len(expected) > 9
    found = set()
    for check in CHECKS:
        program, *rest = check.commands[0].split()
        for patterns in (word.removeprefix("--gtest_filter=") for word in rest):
            if program.startswith("{tests}/"):
                cases = GoogleTest(program.format(tests=pathlib.Path(PROGRAM).parent)).cases
                found |= {
                    file
                    for case, (file, _) in cases.items()
                    if any(fnmatch.fnmatchcase(case, one) for one in patterns.split(":"))
                }
    assert expected <= found


ABSENT = [reason for _, reason in UNUSABLE.values()]
ABSENT += [NO_DRIVER, "built without CUDA (no", "libfathom_cuda.so does not load: lib"]


@pytest.mark.parametrize("reason", ABSENT)
def test_a_test_that_found_no_gpu_fails_its_check(reason):
    assert not_skipped(None, f"a_test.cc:9: Skipped\n{reason}\n\n[  SKIPPED ] A.B\n") == reason
    assert not_skipped(None, "a_test.cc:9: Skipped\nthis machine has a GPU\n") == ""


def write_rows(path, **rows):
    path.write_text(
        json.dumps({"benchmarks": [{"name": name} | row for name, row in rows.items()]})
    )


def test_only_square_products_count_for_the_share_of_the_peak(tmp_path):
    name = "op/matmul/{}/4096/forward/device:cuda/precision:{}/backend:torch"
    shares = {("square", "fp32"): 80, ("square", "bf16"): 30, ("vgg", "bf16"): 90}
    rows = {name.format(*key): {"flops_pct_peak": share} for key, share in shares.items()}
    write_rows(tmp_path / "square.json", **rows)
    assert reaches_peak(tmp_path, "") == "share of peak: bf16 30 %; expected 50 %"
    write_rows(tmp_path / "square.json", **{name.format("vgg", "fp32"): {"flops_pct_peak": 90}})
    assert reaches_peak(tmp_path, "") == "square.json has no row of /square/"


def test_steps_need_the_power_and_the_clock_of_the_gpu(tmp_path):
    assert has_gpu_state(tmp_path, "") == "steps.json has no rows"
    write_rows(tmp_path / "steps.json", a={"gpu_power_w": 300})
    assert has_gpu_state(tmp_path, "") == "no row of steps.json has gpu_clock_mhz"
    write_rows(tmp_path / "steps.json", a={"gpu_power_w": 300, "gpu_clock_mhz": 1500}, b={})
    assert has_gpu_state(tmp_path, "") == ""
