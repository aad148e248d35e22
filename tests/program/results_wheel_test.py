"""results/pyproject.toml: the wheel fathom-results, without the checkout."""

import configparser
import os
import re
import subprocess
import sys
import zipfile

import pytest
from torch_python import DEPENDENCIES

from program import PROGRAMS, ROOT

COMMANDS = {f"fathom-{name}" for name in PROGRAMS if not name.endswith(".py")}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    python = DEPENDENCIES / "dashboards/bin/python"
    command = [python, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(command, cwd=ROOT / "results", check=True, capture_output=True, timeout=300)
    (found,) = folder.iterdir()
    return found


@pytest.fixture(scope="module")
def command(wheel, tmp_path_factory):
    """Returns a function that runs a command of the installed wheel from an empty folder."""
    folder = tmp_path_factory.mktemp("site")
    options = ["--quiet", "--no-deps", "--no-index", "--no-compile", "--target", folder]
    pip = [sys.executable, "-m", "pip", "install", *options, wheel]
    subprocess.run(pip, check=True, capture_output=True, timeout=300)
    python = DEPENDENCIES / "results/bin/python"

    def run(name, *arguments):
        return subprocess.run(
            [python, "-s", folder / "bin" / name, *arguments],
            env=os.environ | {"PYTHONPATH": str(folder)},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


def text_of(wheel, name):
    with zipfile.ZipFile(wheel) as archive:
        (found,) = (one for one in archive.namelist() if one.endswith(f".dist-info/{name}"))
        return archive.read(found).decode()


def test_it_has_a_command_for_each_program(wheel):
    entries = configparser.ConfigParser()
    entries.read_string(text_of(wheel, "entry_points.txt"))
    assert set(entries["console_scripts"]) == COMMANDS


def test_it_has_the_version_of_the_program(wheel):
    (version,) = re.findall(r"VERSION ([\d.]+) LANG", (ROOT / "CMakeLists.txt").read_text())
    assert f"\nVersion: {version}\n" in text_of(wheel, "METADATA")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_its_help_names_the_command(name, command):
    result = command(name, "--help")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"usage: {name} ") and "results/" not in result.stdout


def test_a_mistake_names_the_command(command):
    result = command("fathom-gate", "--mistake")
    assert (result.returncode, result.stdout) == (2, "")
    assert re.match(r"fathom-gate: .+\(fathom-gate --help ", result.stderr)


def test_predict_has_the_recorded_runs(command):
    result = command("fathom-predict", "--errors")
    assert result.returncode == 0, result.stderr
    assert "amd-epyc-zen5-2-cores" in result.stdout
