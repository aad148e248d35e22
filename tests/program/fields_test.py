"""Every field of the JSON files is documented, and every documented field exists."""

import re

import made_up_run as made_up
import pytest
from results_schema import CONTEXT, ROW, fields, pattern, section

from program import QUICK, ROOT, gate, read_json, run, strict_json

BOTH_BACKENDS = "--benchmark_filter=^op/matmul/vgg/fc8/forward/"
SOURCES = [
    path
    for folder in ("benchmarks", "models", "ops", "results/fathom_ab")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".cc", ".h", ".py")
]
LITERALS = set(re.findall(r'"(\w+)"', "\n".join(path.read_text() for path in SOURCES)))


def is_documented(field, title):
    names = fields(section("results.md", title))
    return any(re.fullmatch(pattern(name), field) for name in names)


# --- run.json


def in_code(expression, place):
    """What an expression finds in a file, or in the files of a folder."""
    files = [path for path in SOURCES if ROOT / place in (path, *path.parents)]
    assert files, place
    return set(re.findall(expression, "\n".join(path.read_text() for path in files)))


def test_fields_that_the_code_names_are_documented():
    """Those that need a GPU, data or a library that this machine may lack, too."""
    counters = in_code(r'\bset(?:_rate)?\(\s*state,\s*"(\w+)"', "benchmarks/measure")
    counters |= in_code(r'counters\.emplace_back\(\s*"(\w+)"', "benchmarks/tasks")
    counters |= in_code(r'[{ ]\{"(\w+_(?:us|bytes))", ', "ops/backends")
    assert {"gpu_busy_pct", "skipped_items", "workspace_bytes"} <= counters
    for field in counters:
        assert is_documented(field, ROW), field
    entries = in_code(
        r'(?:\{|emplace_back\()"([a-z]\w*)", ', "benchmarks/output/context/context.cc"
    )
    entries |= {
        f"machine_{key}" for key in in_code(r'MachineFact\{\s*"(\w+)"', "benchmarks/machine")
    }
    entries |= in_code(r'context = \{(?:\.key = )?"(\w+)"', "benchmarks/options")
    entries |= in_code(r'"(ab_\w+)"', "results/fathom_ab")
    assert {"cudnn", "rom", "machine_governor", "ab_id"} <= entries
    for field in entries:
        assert is_documented(field, CONTEXT), field


def is_literal(name):
    """Whether the sources hold it, or two parts that they join."""
    cuts = range(1, len(name))
    return name in LITERALS or any({name[:at], name[at:]} <= LITERALS for at in cuts)


@pytest.mark.parametrize("title", [ROW, CONTEXT])
def test_documented_fields_exist(title):
    names = fields(section("results.md", title).split("From fathom_bench")[1])
    assert names
    for name in names:
        for part in filter(None, re.split("<class>|…", name)):
            assert is_literal(part), name


def test_samples_have_the_documented_keys(tmp_path):
    samples = tmp_path / "steps.jsonl"
    run(*QUICK, BOTH_BACKENDS, f"--fathom_samples={samples}")
    (example,) = re.findall(r"`(\{.*?\})`", section("profile.md", "Every step's time"))
    keys = strict_json(samples.read_text().splitlines()[0]).keys()
    assert keys == set(re.findall(r'"(\w+)":', example))


# --- run.json.explain.json


def keys(value, below=""):
    """All keys of objects, but not those of `hot_us` and `cold_us`, which are backends."""
    if isinstance(value, list):
        return set().union(*(keys(one) for one in value))
    if not isinstance(value, dict) or below in ("hot_us", "cold_us"):
        return set()
    return value.keys() | set().union(*(keys(one, key) for key, one in value.items()))


def words(text):
    """All names in inline code."""
    return {word for found in re.findall(r"`([^`]+)`", text) for word in re.findall(r"\w+", found)}


def test_fields_of_an_explanation_are_documented_and_exist(tmp_path):
    out = tmp_path / "out.json"
    assert run(*QUICK, "--fathom_explain=memnet/infer", f"--benchmark_out={out}").returncode == 0
    text = section("profile.md", "Explain a step")
    written = keys(read_json(f"{out}.explain.json"))
    assert written <= words(text)
    literals = in_code(r'"(\w+)"', "benchmarks/explain/explain_json.cc")
    table = text.split("| field |")[1]
    for name in fields(table):
        assert set(re.findall(r"\w+", name)) <= literals, name


def test_kinds_of_findings_are_those_of_the_code():
    table = section("profile.md", "Explain a step").split("| kind of finding |")[1].split("\n\n")[0]
    kinds = in_code(r'\.kind = "(\w+)"', "benchmarks/explain/explain_findings.cc")
    assert set(fields(table)) == kinds


# --- results/gate --json


def test_fields_of_the_gate_are_documented(tmp_path):
    document = made_up.document(workloads=("vgg", "memnet"), ab_id="1", ab_block="3")
    base, new = (
        made_up.write(
            tmp_path / f"{name}.json",
            document
            | {
                "benchmarks": [
                    row | {key: row[key] * factor for key in ("real_time", "cpu_time")}
                    for row in made_up.repeated(
                        document["benchmarks"], [1 + k / 1000 for k in range(9)]
                    )
                ]
            },
        )
        for name, factor in (("base", 1), ("new", 1.2))
    )
    verdict = tmp_path / "verdict.json"
    assert gate(base, new, f"--json={verdict}").returncode == 1
    found = strict_json(verdict.read_text())
    assert any("causes" in row for row in found["rows"])
    text = section("gate.md", "Files with the result")
    assert keys(found) <= words(text)
    assert {name for row in fields(text) for name in re.findall(r"\w+", row)} <= keys(found)
