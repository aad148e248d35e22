"""results/action.yml runs results/ab in GitHub's CI, as in examples/ci/benchmark.yml."""

# Runs in the Python of dashboards.

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass

import pytest
import yaml
from fake_program import fake, waived
from program import ROOT

ACTION, WORKFLOW = ROOT / "results/action.yml", ROOT / "examples/ci/benchmark.yml"
CONTENT = yaml.safe_load(ACTION.read_text())
INPUTS = {name: one["default"] for name, one in CONTENT["inputs"].items()}
BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")  # as GitHub starts it

# Stand for Python's venv and for pip in it, which installs the program fathom-ab from results/.
VENV = """#!/bin/bash
[[ $1 == -m && $2 == venv ]] && mkdir -p "$3/bin" && cp "${0%/*}/pip" "$3/bin"
"""
PIP = f"""#!/bin/bash
[[ ${{!#}} == {ROOT}/results ]] && ln -s {ROOT}/results/ab "${{0%/*}}/fathom-ab"
"""


# --- the files


@pytest.mark.parametrize("path, schema", [(ACTION, "actions"), (WORKFLOW, "workflows")])
def test_a_file_has_githubs_schema(path, schema):
    command = ["-m", "check_jsonschema", "--builtin-schema", f"vendor.github-{schema}", path]
    result = subprocess.run([sys.executable, *command], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def test_the_action_uses_its_inputs():
    assert set(re.findall(r"inputs\.([\w-]+)", ACTION.read_text())) == INPUTS.keys()


def test_the_workflow_gives_inputs_of_the_action():
    steps = yaml.safe_load(WORKFLOW.read_text())["jobs"]["benchmark"]["steps"]
    (given,) = [step["with"] for step in steps if "/results@" in step.get("uses", "")]
    assert given.keys() < INPUTS.keys() and {"build", "program"} <= given.keys()


@pytest.mark.parametrize("step", CONTENT["runs"]["steps"], ids=lambda step: step["name"])
def test_a_step_has_no_finding_of_shellcheck(step):
    if not shutil.which("shellcheck"):
        pytest.skip("no shellcheck")
    command = ["shellcheck", "--shell=bash", "-"]
    result = subprocess.run(command, input=step["run"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


# --- the steps


@dataclass
class Ended:
    code: int
    log: str
    outputs: dict
    summary: str


@pytest.fixture
def action(tmp_path):
    """Returns a function that runs the steps of the action with some inputs."""
    folders = [tmp_path / name for name in ("bin", "temp", "work")]
    for folder in folders:
        folder.mkdir()
    bin_folder, temp, work = folders
    for name, text in (("python3", VENV), ("pip", PIP)):
        (bin_folder / name).write_text(text)
        (bin_folder / name).chmod(0o755)
    files = {name: tmp_path / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    variables = os.environ | files | {"RUNNER_TEMP": temp, "GITHUB_ACTION_PATH": ACTION.parent}
    variables["PATH"] = f"{bin_folder}:{os.environ['PATH']}"

    def run(cwd=work, **inputs):
        given = INPUTS | {name.replace("_", "-"): str(value) for name, value in inputs.items()}
        for path in files.values():
            path.write_text("")
        log = ""
        for step in CONTENT["runs"]["steps"]:
            own = {
                name: given[re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", value)[1]]
                for name, value in step.get("env", {}).items()
            }
            result = subprocess.run(
                [*BASH, "-c", step["run"]],
                cwd=cwd,
                env=variables | own,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            log += result.stdout
            if result.returncode:
                break
        lines = files["GITHUB_OUTPUT"].read_text().splitlines()
        outputs = dict(line.split("=", 1) for line in lines)
        return Ended(result.returncode, log, outputs, files["GITHUB_STEP_SUMMARY"].read_text())

    return run


@pytest.fixture
def programs(tmp_path):
    """The inputs for two programs with a row, which is 10 % slower in the second."""
    base, new = (fake(tmp_path / name, BM_row=us) for name, us in (("base", 10), ("new", 11)))
    return {"base_program": base, "new_program": new}


def test_a_planted_slow_row_fails_the_job(action, programs):
    ended = action(**programs)
    assert ended.code == 1, ended.log
    assert "::error title=fathom-ab::regression: 1 row slower" in ended.log.splitlines()
    assert ended.summary.startswith("**regression: 1 row slower**\n")
    assert "| SLOWER | `BM_row` | " in ended.summary
    assert ended.outputs == {"verdict": "regression: 1 row slower", "exit-code": "1"}


def test_the_same_program_passes(action, programs):
    ended = action(**programs | {"new_program": programs["base_program"]})
    assert ended.code == 0 and ended.outputs == {"verdict": "no regression", "exit-code": "0"}
    assert "::notice title=fathom-ab::no regression" in ended.log.splitlines()
    assert ended.summary.startswith("**no regression**\n")


def test_no_verdict_is_told_and_passes(action, tmp_path):
    program = fake(tmp_path / "noisy", BM_noisy=10)
    ended = action(base_program=program, new_program=program)
    assert ended.code == 0 and ended.outputs["exit-code"] == "3"
    verdict = "no verdict: 1 of 1 row undecided"
    assert f"::warning title=fathom-ab::{verdict}" in ended.log.splitlines()
    assert ended.summary.startswith(f"**{verdict}**\n")


def test_a_waived_row_passes(action, programs, tmp_path):
    waivers = tmp_path / "waivers.toml"
    waived(waivers, "BM_row")
    ended = action(**programs, waivers=waivers)
    assert ended.code == 0 and "- WAIVED    BM_row: +" in ended.summary


def test_options_reach_the_programs(action, programs, tmp_path):
    inputs = {"filter": "^BM_(row|more)$", "options": "--benchmark_min_time=0.1\n--fast"}
    action(**programs, **inputs, rounds=4, most_rounds=7)
    options = (tmp_path / "new.options").read_text()
    assert options.startswith("--benchmark_filter=^BM_(row|more)$ --benchmark_min_time=0.1 --fast ")
    runs = (tmp_path / "log").read_text().split().count("new")
    assert 4 <= runs <= 7


def git(folder, *arguments):
    author = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"]
    subprocess.run(["git", "-C", folder, *author, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path):
    """A repository whose last commit makes a row slower."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--initial-branch=main")
    for name, us in (("fast", 10), ("slow", 11)):
        fake(folder / "source", BM_row=us)
        git(folder, "add", "source")
        git(folder, "commit", "--message", name)
        git(folder, "branch", name)
    return folder


BUILD = {"build": "mkdir build\ncp source build/bench", "program": "build/bench"}


@pytest.mark.parametrize("refs", [{}, {"base_ref": "fast", "new_ref": "slow"}])
def test_two_refs_are_built(action, repository, refs):
    ended = action(cwd=repository, **BUILD, **refs)
    assert ended.code == 1 and ended.outputs["verdict"] == "regression: 1 row slower", ended.log


def test_a_ref_that_the_checkout_lacks_is_fetched(action, repository, tmp_path):
    git(tmp_path, "clone", "--depth=1", f"file://{repository}", "checkout")
    ended = action(cwd=tmp_path / "checkout", **BUILD, base_ref="fast")
    assert ended.code == 1 and ended.outputs["verdict"] == "regression: 1 row slower", ended.log


def test_a_build_that_fails_ends_the_job(action, repository):
    ended = action(cwd=repository, **BUILD | {"build": "false | true"})
    assert ended.code != 0 and ended.outputs == {}


@pytest.mark.parametrize("given", [{}, {"build": "make"}, {"base_program": "a"}])
def test_missing_inputs_are_an_error(action, given):
    ended = action(**given)
    line = "expected the inputs base-program and new-program, or build and program"
    assert ended.code == 2 and ended.log.splitlines() == [f"::error title=fathom-ab::{line}"]


def test_unusable_input_is_an_error_with_its_line(action, programs):
    ended = action(**programs | {"new_program": "nowhere"})
    assert ended.code == 2 and ended.outputs["exit-code"] == "2" and ended.summary == ""
    line = "ab: nowhere: No such file or directory, expected a program that uses Google Benchmark"
    assert f"::error title=fathom-ab::{line}" in ended.log.splitlines()
