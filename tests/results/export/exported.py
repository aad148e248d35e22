"""Made-up runs and their exports, for the tests in this folder."""

import made_up_run as made_up
from program import export, strict_json

SUFFIX = "/process_time/real_time"
STEP = made_up.step_name("alexnet") + SUFFIX
FORMS = {
    "medians": [],
    "counters": ["--counter", "peak_memory_bytes"],
    "bencher": ["--counter", "flops"],
    "lnt": [],
    "openmetrics": ["--counter", "flops"],
}


def once(**more):
    return made_up.document(workloads=("alexnet", "memnet"), **more)


def repeated(**more):
    document = once(**more)
    return document | {"benchmarks": list(made_up.repeated(document["benchmarks"]))}


def names(document):
    return list(dict.fromkeys(row["run_name"] for row in document["benchmarks"]))


def exported(folder, form, document, *arguments):
    """Exports a document and returns the content."""
    run, out = made_up.write(folder / "run.json", document), folder / "out.json"
    result = export(form, run, "-o", out, *(arguments or FORMS[form]))
    assert result.returncode == 0 and result.stderr == "", result.stderr
    return content(form, out.read_text())


def content(form, text):
    """The JSON, or the text of a form that has none."""
    return text if form == "openmetrics" else strict_json(text)


def by_name(entries):
    assert len({entry["name"] for entry in entries}) == len(entries)
    return {entry["name"]: entry for entry in entries}
