"""cmake/Wheels.cmake installs pinned wheels whatever the user's Python and pip are set to."""

import hashlib
import os
import shutil
import subprocess
import zipfile

import pytest

from program import ROOT

INFO = "tiny-1.0.dist-info"


def write_wheel(folder):
    """A wheel of a module `tiny`."""
    wheel = folder / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny.py", "")
        archive.writestr(f"{INFO}/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr(f"{INFO}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{INFO}/RECORD", f"tiny.py,,\n{INFO}/METADATA,,\n{INFO}/WHEEL,,\n")
    return wheel


@pytest.fixture
def install(tmp_path):
    """Installs the wheel, and returns what CMake prints and the installed files."""
    wheel = write_wheel(tmp_path)
    cmake = tmp_path / "cmake"
    (cmake / "wheels").mkdir(parents=True)
    shutil.copy(ROOT / "cmake/Wheels.cmake", cmake)
    pin = f"tiny==1.0 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"
    (cmake / "wheels/wheels-tiny.txt").write_text(pin)
    script = cmake / "tiny.cmake"
    script.write_text(
        'include("${CMAKE_CURRENT_LIST_DIR}/Wheels.cmake")\nfathom_wheels(tiny Tiny "A hint." venv)\n'
    )
    index = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PIP_CONFIG_FILE": os.devnull}

    def installed(**variables):
        result = subprocess.run(
            ["cmake", f"-DFATHOM_DEPS_DIR={tmp_path}/deps", "-P", script],
            env=os.environ | index | variables,
            capture_output=True,
            text=True,
        )
        files = (tmp_path / "deps/tiny").glob("lib/python3*/site-packages/tiny.py")
        return result.stdout + result.stderr, list(files)

    return installed


@pytest.mark.parametrize(
    "variable, value",
    [
        ("PIP_CONSTRAINT", "constraint.txt"),
        ("PIP_PREFIX", "elsewhere"),
        ("PIP_TARGET", "elsewhere"),
        ("PIP_USER", None),
        ("PYTHONPATH", "installed"),
    ],
)
def test_the_users_settings_do_not_matter(variable, value, install, tmp_path):
    (tmp_path / "constraint.txt").write_text("tiny==0.9\n")
    with zipfile.ZipFile(tmp_path / "tiny-1.0-py3-none-any.whl") as archive:
        archive.extractall(tmp_path / "installed")
    said, files = install(**{variable: str(tmp_path / value) if value else "1"})
    assert len(files) == 1, said
