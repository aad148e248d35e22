"""The JSON Schema of results files: made of the tables of docs/results.md, and what it refuses."""

import functools
import importlib.util
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE = ROOT / "docs/schema.json"
ROW, CONTEXT = "Fields of a row", "Fields of the context"
# What the tables call a type. Other words are units of numbers.
TYPES = {"text": "string", "true or false": "boolean", "list": "array"}


def section(page, title):
    """Without its code blocks."""
    text = (ROOT / "docs" / page).read_text().split(f"\n## {title}\n")[1]
    return re.sub(r"^```.*?^```", "", text.split("\n## ")[0], flags=re.DOTALL | re.MULTILINE)


def fields(text):
    """The names in the first cell of each table row."""
    cells = re.findall(r"^\| (\**`.*?) \|", text, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def pattern(name):
    """<class> and … stand for any word."""
    return re.sub("<class>|…", r"\\w+", name)


def version():
    """The version of the format, as the program writes it."""
    code = (ROOT / "benchmarks/output/context/context.cc").read_text()
    return re.search(r'kSchema = "(\d+\.\d+)"', code)[1]


def object_with(title):
    """The schema of an object with a section's fields. A table without types or units has text."""
    properties, patterns = {}, {}
    page = section("results.md", title)
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        kind = cells[1] if len(cells) == 3 else "text"
        for name in fields(line):
            known, key = properties, name
            if name != pattern(name):
                known, key = patterns, f"^{pattern(name)}$"
            known[key] = {"type": TYPES.get(kind, "number")}
    return {
        "type": "object",
        "properties": properties,
        "patternProperties": patterns,
        "required": re.findall(r"\*\*`(\w+)`\*\*", page),
    }


def schema():
    context = object_with(CONTEXT)
    major = version().partition(".")[0]
    context["properties"]["fathom_schema"]["pattern"] = rf"^{major}\.\d+$"
    context |= {  # users add entries of their own
        "if": {"properties": {"command_line": {"pattern": "--benchmark_context="}}},
        "then": {"additionalProperties": True},
        "unevaluatedProperties": False,
    }
    row = object_with(ROW) | {"additionalProperties": False}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Results of fathom_bench, version {version()} of the format",
        "description": "docs/results.md says what the fields mean and which units they have.",
        "type": "object",
        "properties": {"context": context, "benchmarks": {"type": "array", "items": row}},
        "required": ["context", "benchmarks"],
        "additionalProperties": False,
    }


def text():
    """The content of docs/schema.json, a line for each field."""
    return re.sub(r"\{\s+(\"type\": \"\w+\")\s+\}", r"{\1}", json.dumps(schema(), indent=1)) + "\n"


@functools.cache
def validator():
    """Of docs/schema.json; None in a Python without jsonschema, such as that of results/."""
    if not importlib.util.find_spec("jsonschema"):
        return None
    library = importlib.import_module("jsonschema")
    return library.Draft202012Validator(json.loads(FILE.read_text()))


def faults(document):
    """What the schema refuses in a results file: a place and a reason each."""
    return [f"{one.json_path}: {one.message}" for one in validator().iter_errors(document)]
