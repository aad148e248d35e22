"""The README and the pages of docs/ agree with the program: tables, options, exit codes, commands and links.

To write the tables of workloads, op types and options anew: FATHOM_WRITE_NAMES=1 tests/run tests/program/documents_test.py
"""

import ast
import functools
import os
import pathlib
import re
import shlex
import shutil

import pytest

from fathom_runs.program import FAILED
from program import FAULTY_KERNELS, ONE_ROW, PROGRAM, PROGRAMS, ROOT, read_json, run, starts

FOLDERS = (".", "docs", "results", "results/runs")
DOCUMENTS = [path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.md"))]
OPTIONS = (ROOT / "docs/options.md").read_text()
# The page that lists the exit codes of a program in results/.
PAGES = {"report": "report", "gate": "gate", "ab": "gate", "history": "history"}
PAGES |= {"export": "dashboards", "predict": "predict", "compare": "compare"}
# What this machine may lack for a command, and the error that says so.
ABSENT = {"--fathom_device=cuda": "--fathom_device=cuda: "}
ABSENT |= {option: option for option in ("--fathom_onednn", "--fathom_rom")}
ABSENT |= {"--fathom_network": ": does not exist"}


@functools.cache
def help_text():
    result = run("--help")
    assert result.returncode == 0
    return result.stdout


def tables(text):
    """The cells of each table row."""
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]


def sections(text):
    """The text below each heading of the second level, by heading."""
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def code(path):
    """The lines of a document's code blocks, and its inline code."""
    text = path.read_text()
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = [line.strip().removeprefix("$ ") for block in blocks for line in block.splitlines()]
    return lines + re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))


def commands(path, program):
    """The arguments of each command of a document that starts a program."""
    lines = [line for line in code(path) if line.split(" ")[0] == program and " " in line]
    return [shlex.split(line, comments=True)[1:] for line in lines]


# --- the README


def test_the_readme_is_short():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 170
    fences = [place for place, line in enumerate(lines) if line.startswith("```")]
    for begin, end in zip(fences[::2], fences[1::2]):
        assert max(map(len, lines[begin:end])) <= 110


def test_the_readmes_example_shows_the_rows_of_its_command():
    """Those of the backends that this build has."""
    text = (ROOT / "README.md").read_text()
    command, table = re.search(
        r"^\$ \./fathom_bench ([^\n]*)\n(.*?)^```", text, re.S | re.M
    ).groups()
    listed = run(
        *shlex.split(command, comments=True), "--benchmark_list_tests", "--fathom_device=cpu"
    ).stdout
    rows = set(re.findall(r"^(\S+)/device:.*/backend:(\w+)/", listed, re.MULTILINE))
    shown = set(re.findall(r"^(\S+/\S+) +\d+ +(\w+) ", table, re.MULTILINE))
    here = {backend for _, backend in rows}
    assert rows and rows == {row for row in shown if row[1] in here}


# --- tables


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    out = tmp_path_factory.mktemp("context") / "out.json"
    assert run(*ONE_ROW, f"--benchmark_out={out}").returncode == 0
    return read_json(out)["context"]


def pairs(entry):
    """An entry of the context such as "matmul:matrix conv2d:convolution"."""
    return dict(pair.split(":") for pair in entry.split())


def check_table(page, table):
    path = ROOT / "docs" / page
    if "FATHOM_WRITE_NAMES" in os.environ:
        header = re.escape(table.splitlines(keepends=True)[0])
        path.write_text(re.sub(rf"{header}(\|.*\n)*", lambda _: table, path.read_text()))
    assert table in path.read_text()


def test_the_table_of_workloads_is_the_programs():
    check_table("workloads.md", run("--fathom_models").stdout)


def test_the_readme_names_every_workload(context):
    named = sections((ROOT / "README.md").read_text())["Workloads"]
    names = {step.split("/")[0] for step in pairs(context["default_batches"])}
    for workload in names - pairs(context["variant_of"]).keys():
        assert re.search(rf"\b{workload}\b", named), workload


def test_the_table_of_op_types_is_the_programs(context):
    types = {}
    for name, op_class in pairs(context["op_classes"]).items():
        types.setdefault(op_class, []).append(f"`{name}`")
    rows = "".join(f"| {op_class} | {', '.join(names)} |\n" for op_class, names in types.items())
    check_table("ops.md", f"| class | types |\n|---|---|\n{rows}")


# --- options


def options_of_help():
    """The options of --help in their order: group, flag, its value, a sentence, the default."""
    for group, lines in re.findall(r"^(\w[\w ]+):\n((?: .*\n)+)", help_text(), re.MULTILINE):
        entries = re.findall(r"^  (--fathom_\w+)=?(\S*)((?:\s+\S.*?)?(?:\n {30}.*)*)$", lines, re.M)
        for flag, value, text in entries:
            words = " ".join(text.split())
            sentence, default = re.fullmatch(r"(.*?)(?: \(default: ([^()]*)\))?", words).groups()
            yield group, flag, value, sentence, default or ""


def option_row(flag, value, sentence, default):
    """The row of an option in the page: the words of --help, each followed by what the page adds to them."""
    cells = {re.match(r"`(--\w+)|", row[0])[1]: row for row in tables(OPTIONS)}
    new = [f"`{flag}{'=' if value else ''}{value}`", "", ""]
    first, meaning, fallback = (cells.get(flag, new) + [""])[:3]
    code = r"(?<!\S)(-[-D]\w[\w=]*|\S*<\w+>\S*?)(?=[.;,)]?(?:\s|$))"
    added = "".join(meaning.partition(". ")[1:])
    added_default = "".join(fallback.partition("; ")[1:])
    sentence = re.sub(code, r"`\1`", sentence)
    row = f"| {first} | {sentence}{added} | {default}{added_default} |"
    return row.replace("|  |", "| |")


def test_the_page_has_the_options_of_the_help():
    """FATHOM_WRITE_NAMES=1 writes the row of a new option, without the words that only the page has."""
    page, groups = OPTIONS, {}
    for group, *option in options_of_help():
        groups.setdefault(group, []).append(option_row(*option))
    for group, rows in groups.items():
        table = "\n".join(
            [f"## {group}", "", "| option | meaning | default |", "|---|---|---|", *rows]
        )
        page = re.sub(rf"## {group}\n\n\|.*(?:\n\|.*)*", lambda _: table, page)
    if "FATHOM_WRITE_NAMES" in os.environ:
        (ROOT / "docs/options.md").write_text(page)
    assert groups and page == (ROOT / "docs/options.md").read_text()


def test_all_values_of_a_choice_are_documented():
    for _, flag, value, *_ in options_of_help():
        (row,) = [row for row in tables(OPTIONS) if re.match(rf"`{flag}\b", row[0])]
        for one in value.split("|") if value.islower() else []:
            assert re.search(rf"\b{one}\b", " ".join(row)), (flag, one)


def offered():
    return set(re.findall(r"--\w+", help_text()))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_document_names_options_that_exist(path):
    named = set(re.findall(r"--(?:fathom|benchmark)_\w+", path.read_text()))
    assert named <= offered()


# --- exit codes


def exit_codes(text):
    return {int(row[0]) for row in tables(text) if row[0].isdigit()}


def test_exit_codes_are_those_of_the_help():
    line = re.search(r"^Exit codes: .*(?:\n .*)*", help_text(), re.MULTILINE)[0]
    documented = exit_codes(sections(OPTIONS)["Exit codes"])
    assert documented == {int(code) for code in re.findall(r"(?:: |, )(\d) ", line)}


def returned(name):
    """The numbers that main() and run() of a program in results/ return, and that of its errors."""
    tree = ast.parse((ROOT / f"results/fathom_{name}/__main__.py").read_text())
    functions = [one for one in tree.body if getattr(one, "name", "") in ("main", "run")]
    nodes = [node for one in functions for node in ast.walk(one)]
    values = [one.value for one in nodes if isinstance(one, ast.Return)]
    branches = [
        part for one in values for part in (getattr(one, "body", one), getattr(one, "orelse", one))
    ]
    return {FAILED} | {one.value for one in branches if isinstance(one, ast.Constant)}


def test_every_program_of_results_has_a_page():
    assert PAGES.keys() == {name for name in PROGRAMS if not name.endswith(".py")}


@pytest.mark.parametrize("page", sorted(set(PAGES.values())))
def test_exit_codes_of_results_are_those_of_their_programs(page):
    codes = set().union(*(returned(name) for name, where in PAGES.items() if where == page))
    assert exit_codes((ROOT / f"docs/{page}.md").read_text()) == codes


def test_the_page_of_a_ci_states_what_the_gate_finds():
    gate, ci = ((ROOT / f"docs/{name}.md").read_text() for name in ("gate", "ci"))
    power = re.search(r"^<!-- power.*?^<!-- end", gate, re.DOTALL | re.MULTILINE)[0]
    known = {row[0]: [cell.partition("; ")[2] for cell in row[-2:]] for row in tables(power)[2:]}
    stated = {row[0]: row[1:] for row in tables(sections(ci)["What it finds"])[2:]}
    assert stated and stated.items() <= known.items()


# --- commands and links


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A working folder with the files that the commands name."""
    path = tmp_path_factory.mktemp("commands")
    (path / "DIR").mkdir()
    (shapes,) = re.findall(r"```json\n(.*?)```", (ROOT / "docs/ops.md").read_text(), re.DOTALL)
    (path / "square.json").write_text(shapes)
    (path / "build/my_kernel").mkdir(parents=True)
    for library in ("libmine.so", "build/my_kernel/libmy_kernel.so"):
        shutil.copy(FAULTY_KERNELS, path / library)
    return path


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_commands_of_a_document_find_rows(path, folder):
    run_there = starts(pathlib.Path(PROGRAM).resolve())
    for program in ("./fathom_bench", "build/default/fathom_bench"):
        for arguments in commands(path, program):
            if any(one.startswith("--fathom_record") for one in arguments):
                continue  # it writes into the source tree
            result = run_there(*arguments, "--benchmark_list_tests", cwd=folder)
            if result.returncode == 2:
                reasons = [ABSENT[one] for one in ABSENT if one in " ".join(arguments)]
                assert any(reason in result.stderr for reason in reasons), result.stderr
            else:
                assert result.returncode == 0 and result.stdout, (arguments, result.stderr)


@pytest.mark.parametrize("name", PAGES)
def test_commands_of_results_name_options_that_exist(name):
    known = set(re.findall(r"(?<!\S)-{1,2}\w[\w-]*", help_of(name)))
    found = [one for path in DOCUMENTS for one in commands(path, f"results/{name}")]
    assert found
    for arguments in found:
        plain = [one.strip("[]") for one in arguments]
        own = plain[: plain.index("--")] if "--" in plain else plain
        options = {one.split("=")[0] for one in own if one.startswith("-")}
        assert options <= known, arguments


def help_of(name):
    """Of a program and its subcommands."""
    started = starts(ROOT / "results" / name)
    text = started("--help").stdout
    for part in re.findall(r"\{([\w,]+)\}", text)[:1]:
        if name == "export":
            text += "".join(started(form, "--help").stdout for form in part.split(","))
    return text


def test_settings_of_the_build_exist():
    files = [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")]
    cmake = "\n".join(path.read_text() for path in files)
    for path in DOCUMENTS:
        for setting in re.findall(r"-D(\w+)=", path.read_text()):
            assert re.search(rf"\b{setting}\b", cmake), (path, setting)


def anchors(path):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).strip().replace(" ", "-") for one in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'src="([^"]+)"', text)
    for link in links:
        if link.startswith("http"):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link
