"""No failure of a program of results/ has the exit code of a finding, and each is one line."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import made_up_run as made_up
import pytest
from program import PROGRAMS, ROOT

NO_VERDICT = 3  # of the gate on two runs, which are in `files`


def start(name, *arguments, **options):
    variables = os.environ | options.pop("variables", {})
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.run(
        [ROOT / "results" / name, *arguments], env=variables, timeout=300, text=True, **streams
    )


@pytest.fixture(name="files", scope="module")
def repeated(tmp_path_factory):
    """Two files with repetitions, of which the second is faster."""
    made = []
    for name, us in (("base", 100.0), ("faster", 50.0)):
        rows = [
            made_up.row(
                "memnet/infer/device:cpu/threads:1/batch:4/precision:fp32/backend:torch",
                us + number / 100,
                repetition_index=number,
                repetitions=9,
            )
            for number in range(9)
        ]
        document = made_up.document(workloads=("memnet",)) | {"benchmarks": rows}
        made.append(made_up.write(tmp_path_factory.mktemp(name) / f"{name}.json", document))
    return made


@pytest.mark.parametrize("name", PROGRAMS)
def test_wrong_usage_is_one_line(name):
    result = start(name, "--nonsense")
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr.startswith(f"{name.removesuffix('.py')}: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "variables",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "nonsense"},
        {"PYTHONHOME": "/nonexistent"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
    ids=lambda variables: " ".join(map("=".join, variables.items())),
)
def test_the_users_settings_of_python_are_no_finding(files, variables):
    result = start("gate", *files, "--all", variables=variables)
    assert result.returncode == NO_VERDICT, result.stderr
    assert "memnet/infer" in result.stdout


def started_script(folder, text, **variables):
    """The result of a Python script that uses the packages of results/."""
    script = folder / "faulty.py"
    script.write_text(f"from fathom_runs.program import run\n{text}", encoding="utf-8")
    variables = os.environ | {"PYTHONPATH": str(ROOT / "results")} | variables
    return subprocess.run([sys.executable, script], env=variables, capture_output=True, text=True)


def test_a_script_escapes_what_an_encoding_lacks(tmp_path):
    result = started_script(tmp_path, "run(lambda: print('25 µs'))\n", PYTHONIOENCODING="ascii")
    assert result.returncode == 0 and result.stdout == "25 \\xb5s\n", result.stderr


def test_modules_of_the_current_folder_are_not_imported(tmp_path, files):
    for module in ("json", "signal", "numpy", "runpy"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit(1)")
    assert start("gate", *files, cwd=tmp_path).returncode == NO_VERDICT


@pytest.mark.parametrize("name", ["gate", "against_gloo.py", "predict", "export"])
def test_a_full_stdout_is_one_line(name, files, tmp_path):
    arguments = {"gate": files, "export": ["medians", files[0], "-o", tmp_path / "out.json"]}
    with open("/dev/full", "w", encoding="utf-8") as full:
        result = start(name, *arguments.get(name, ["--help"]), stdout=full)
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert result.stderr.startswith(f"{name.removesuffix('.py')}: ")
    assert result.stderr.endswith("No space left on device\n")


def test_a_closed_stdout_is_no_failure(files):
    command = f"exec {ROOT}/results/gate {files[0]} {files[1]} >&- 2>&-"
    assert subprocess.run(["bash", "-c", command], check=False).returncode == NO_VERDICT


def test_an_exception_is_one_line_or_with_its_trace(tmp_path):
    text = "def main():\n    return {}['row']\nrun(main)\n"
    result = started_script(tmp_path, text)
    assert result.returncode == 2
    assert result.stderr == "faulty: failed with KeyError: 'row' (FATHOM_TRACEBACK=1 shows where)\n"
    result = started_script(tmp_path, text, FATHOM_TRACEBACK="1")
    assert result.returncode == 2 and "Traceback" in result.stderr


def test_a_package_that_cannot_be_imported_is_one_line(tmp_path):
    """The programs start through fathom_runs.program, so that errors of their imports count, too."""
    (tmp_path / "fathom_broken.py").write_text("import a_package_that_is_not_there\n")
    result = subprocess.run(
        [sys.executable, "-m", "fathom_runs.program", "fathom_broken"],
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'results'}:{tmp_path}"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 2
    assert result.stderr.startswith("broken: failed with ModuleNotFoundError: No module named 'a_p")


def test_names_of_files_need_not_be_utf_8(files, tmp_path):
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    base = folder + b"/base\xff.json"
    shutil.copy(files[0], base)
    verdict, page = tmp_path / "verdict.json", tmp_path / "page.html"
    result = start("gate", base, files[1], f"--json={verdict}", f"--markdown={tmp_path}/c.md")
    assert result.returncode == NO_VERDICT, result.stderr
    text = verdict.read_text(encoding="utf-8")
    assert json.loads(text)["base"]["file"].endswith("base\ufffd.json")
    for name, *arguments in (["history", folder], ["report", base]):
        result = start(name, *arguments, "-o", page)
        assert result.returncode == 0, result.stderr
        assert page.read_text(encoding="utf-8")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become a user who may not run Python")
def test_a_python_that_the_user_cannot_run_is_named():
    pins = hashlib.sha256((ROOT / "cmake/wheels/wheels-results.txt").read_bytes()).hexdigest()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # pytest's folders are closed to other users
        python = pathlib.Path(folder, "results/bin/python")
        python.parent.mkdir(parents=True)
        python.write_text("#!/bin/sh\n")
        python.chmod(0o700)
        pathlib.Path(folder, "results", pins).touch()
        result = start("gate", variables={"FATHOM_DEPS_DIR": folder}, user=65534)
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert f"gate: {python} does not run" in result.stderr and "FATHOM_DEPS_DIR" in result.stderr
