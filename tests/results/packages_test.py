"""The packages of results/: which imports which, and that a newcomer can look over each."""

import ast

import pytest
from program import ROOT

RESULTS = ROOT / "results"
# What a package imports of the others. No package imports a script.
IMPORTS = {
    "fathom_runs": set(),
    "fathom_page": {"fathom_runs"},
    "fathom_report": {"fathom_runs", "fathom_page"},
    "fathom_history": {"fathom_runs", "fathom_page"},
    "fathom_gate": {"fathom_runs"},
    "fathom_ab": {"fathom_runs", "fathom_gate"},
    "fathom_export": {"fathom_runs"},
    "eager_steps": set(),
}
SCRIPTS = {path.stem for path in RESULTS.glob("*.py")}
MOST_FILES, MOST_LINES = 25, 300


def imported(path):
    """Names of the modules of results/ that a file imports, without what is inside them."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
    return {name.split(".")[0] for name in found} & (IMPORTS.keys() | SCRIPTS)


@pytest.mark.parametrize("package", IMPORTS)
def test_a_package_imports_only_what_lies_below_it(package):
    files = (RESULTS / package).rglob("*.py")
    found = set().union(*map(imported, files))
    assert found - {package} <= IMPORTS[package]


def test_every_package_has_its_imports_listed():
    assert {path.parent.name for path in RESULTS.glob("*/__init__.py")} == IMPORTS.keys()


def test_the_reader_needs_python_alone():
    """The scripts run without the packages of cmake/wheels/wheels-results.txt."""
    for path in (RESULTS / "fathom_runs").glob("*.py"):
        text = path.read_text()
        assert not any(f"import {name}" in text for name in ("numpy", "pandas", "scipy", "jinja2"))


def test_folders_and_files_are_short():
    files = [path for path in RESULTS.rglob("*") if "__pycache__" not in path.parts]
    for folder in {path.parent for path in files}:
        assert sum(path.parent == folder for path in files) <= MOST_FILES, folder
    for path in files:
        if path.suffix in (".py", ".html", ".css", ".js"):
            assert len(path.read_text().splitlines()) <= MOST_LINES, path
