"""Figures of made-up runs, for the tests in this folder."""

import io

import made_up_backends
import made_up_run as made_up
import matplotlib.figure
import pytest

from fathom_report import figures as all_figures
from fathom_report.run import read
from fathom_runs.names import kind


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


def load(folder, document, samples=()):
    files = [made_up.write(folder / "run.json", document)]
    if samples:
        files.append(made_up.write(folder / "steps.jsonl", list(samples)))
    return read(files)


def figures(run):
    return {figure.key: figure for figure in all_figures.figures(run)}


@pytest.fixture(scope="module")
def everything(folder):
    samples = made_up.samples("alexnet") + made_up.samples("vgg", drift=0.3)
    document = made_up.everything()
    document["benchmarks"] += made_up.language_model()
    return figures(load(folder, document, samples))


def of(folder, key, samples=(), **options):
    """One figure of a made-up document."""
    return figures(load(folder, made_up.document(**options), samples))[key]


def drawn(figure):
    """The SVG of a figure, in bytes."""
    canvas = matplotlib.figure.Figure()
    figure.draw(canvas)
    file = io.BytesIO()
    canvas.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def without(document, *starts):
    """The document without rows with these prefixes."""
    rows = [row for row in document["benchmarks"] if not row["name"].startswith(starts)]
    return document | {"benchmarks": rows}


def with_backends(document, shares=None, kinds=("step",)):
    """The document, and its steps on other backends. `kinds` may add "inside", the op types in these steps."""
    steps = [row for row in document["benchmarks"] if kind(row["name"]) in kinds]
    others = made_up_backends.on_all(steps, shares)
    return document | {"benchmarks": document["benchmarks"] + others}
