"""tests/gpu, with pretended checks instead of a GPU."""

import importlib.machinery
import importlib.util
import re
import shlex
import sys

import pytest

from gpu_checks import CHECKS, SHORT_FORMS, Check
from program import ROOT, run, starts


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


def test_without_a_gpu_it_says_so_in_one_line(tmp_path):
    result = starts(ROOT / "tests/gpu")("--out", tmp_path / "out")
    if "nothing was run" not in result.stderr:
        pytest.skip("this machine has a GPU")
    assert result.returncode == 2 and len(result.stderr.splitlines()) == 1
    assert "NVIDIA driver" in result.stderr
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
            for short, form in SHORT_FORMS.items():
                command = command.replace(short, form)
            used = {word.split("=")[0] for word in shlex.split(command)}
            assert {word for word in used if word.startswith("--fathom_")} <= options, check.name
