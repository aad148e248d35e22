"""The packages of results/: imports, and numbers of files and lines."""

import ast
import re

import pytest
from program import PROGRAMS, ROOT

RESULTS = ROOT / "results"
# Allowed imports between the packages. No package imports a script.
IMPORTS = {
    "fathom_runs": set(),
    "fathom_page": {"fathom_runs"},
    "fathom_report": {"fathom_runs", "fathom_page"},
    "fathom_history": {"fathom_runs", "fathom_page"},
    "fathom_compare": {"fathom_runs", "fathom_page"},
    "fathom_gate": {"fathom_runs"},
    "fathom_ab": {"fathom_runs", "fathom_gate"},
    "fathom_export": {"fathom_runs"},
    "fathom_predict": {"fathom_runs", "fathom_ranks"},
    "fathom_ranks": {"fathom_runs"},
    "eager_steps": set(),
}
SCRIPTS = {path.stem for path in RESULTS.glob("*.py")}
MAX_FILES, MAX_LINES = 25, 300


def imported(path):
    """Packages and scripts of results/ that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
    return {name.split(".")[0] for name in found} & (IMPORTS.keys() | SCRIPTS)


@pytest.mark.parametrize("package", IMPORTS)
def test_a_package_imports_only_allowed_packages(package):
    files = (RESULTS / package).rglob("*.py")
    found = set().union(*map(imported, files))
    assert found - {package} <= IMPORTS[package]


def test_every_package_is_listed():
    assert {path.parent.name for path in RESULTS.glob("*/__init__.py")} == IMPORTS.keys()


def test_the_reader_needs_only_the_standard_library():
    """Scripts use the reader without the packages of cmake/wheels/wheels-results.txt."""
    for path in (RESULTS / "fathom_runs").glob("*.py"):
        text = path.read_text()
        assert not any(f"import {name}" in text for name in ("numpy", "pandas", "scipy", "jinja2"))


def test_scripts_can_be_started():
    """The documents start them by their path."""
    scripts = [path for path in RESULTS.iterdir() if path.is_file()]
    assert PROGRAMS == sorted(one.name for one in scripts if one.read_bytes().startswith(b"#!"))
    assert {path.name for path in RESULTS.glob("*.py")} < set(PROGRAMS)


def test_the_page_of_the_programs_lists_them():
    listed = re.findall(r"^\| `results/([\w.]+)", (RESULTS / "README.md").read_text(), re.M)
    assert sorted(set(listed)) == PROGRAMS


def test_folders_and_files_are_short():
    files = [path for path in RESULTS.rglob("*") if path.is_file()]
    files = [path for path in files if "__pycache__" not in path.parts]
    for folder in {path.parent for path in files}:
        assert sum(path.parent == folder for path in files) <= MAX_FILES, folder
    for path in files:
        if path.suffix in (".py", ".html", ".css", ".js"):
            assert len(path.read_text().splitlines()) <= MAX_LINES, path
