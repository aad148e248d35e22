"""All figures of results/report: order, style, and runs with little data."""

import hashlib

import made_up_run as made_up
import matplotlib.figure
import pytest
from made_up_figures import drawn, everything, figures, folder, load

from fathom_page import marks, style
from fathom_page.figure import Missing

KEYS = [
    f"{group}-{n}"
    for group, count in {"fathom": 6, "tbd": 5, "ours": 9}.items()
    for n in range(1, count + 1)
]


def test_all_figures_in_the_papers_order(everything):
    assert list(everything) == KEYS
    assert not [key for key, figure in everything.items() if isinstance(figure, Missing)]


@pytest.mark.parametrize("key", KEYS)
def test_every_figure_has_a_sentence_and_data(everything, key):
    figure = everything[key]
    assert figure.sentence.endswith(".") and "nan" not in figure.sentence
    assert len(figure.data) > 0
    svg = drawn(figure)
    assert style.INK.encode() in svg
    assert b"#000000" not in svg, "text and axes use only INK"


def test_the_same_data_gives_the_same_bytes(everything):
    for key in ("fathom-4", "ours-1"):
        hashes = {hashlib.sha256(drawn(everything[key])).hexdigest() for _ in range(2)}
        assert len(hashes) == 1


@pytest.mark.parametrize("key", KEYS)
def test_figures_fit_on_a_page(everything, key):
    canvas = matplotlib.figure.Figure()
    everything[key].draw(canvas)
    assert canvas.get_size_inches()[0] <= 9
    texts = canvas.findobj(lambda one: isinstance(one, matplotlib.text.Text) and one.get_text())
    assert min(text.get_fontsize() for text in texts) >= 9


def test_missing_rows_are_named(folder):
    row = made_up.row(made_up.step_name("vgg", "infer", threads=2), 5)
    found = figures(load(folder, {"context": made_up.context(), "benchmarks": [row]}))
    assert list(found) == KEYS
    assert all(isinstance(figure, Missing) and figure.needs for figure in found.values())


@pytest.mark.parametrize(
    "options",
    [
        {"workloads": ("vgg",)},
        {"workloads": ("vgg",), "threads": (1, 2), "scales": (1, 2), "memory": True, "cold": True},
        {"workloads": ("vgg", "memnet"), "threads": (4,), "modes": ("infer",)},
        {"workloads": ("vgg", "memnet"), "modes": ("train",), "gpu": True},
        {"threads": (1, 2, 4), "op_rows": False},
        {"profile": False, "cold": True},
        {"workloads": (), "op_rows": True},
    ],
)
def test_little_data_is_not_an_error(folder, options):
    document = made_up.document(**options)
    document["benchmarks"] += made_up.ops("vgg", threads=1)
    for figure in figures(load(folder, document)).values():
        if not isinstance(figure, Missing):
            assert "nan" not in figure.sentence
            drawn(figure)


def test_only_rows_of_a_gpu_are_not_an_error(folder):
    document = made_up.document(gpu=True, op_rows=False, scales=(1, 2))
    rows = [row for row in document["benchmarks"] if "/device:cuda/" in row["name"]]
    found = figures(load(folder, document | {"benchmarks": rows}))
    assert "GPU, fp32" in found["fathom-2"].sentence
    for figure in found.values():
        if not isinstance(figure, Missing):
            drawn(figure)


def test_classes_are_those_of_the_context(folder):
    classes = made_up.CATALOGUE["op_classes"].replace("conv2d:convolution", "conv2d:communication")
    found = figures(load(folder, made_up.document(op_classes=classes, cold=True)))
    for key in ("ours-1", "ours-3"):
        data = found[key].data
        assert set(data[data.type == "conv2d"].op_class) == {"communication"}
        assert set(data[data.type == "matmul"].op_class) == {"matrix"}
    assert "communication" in set(found["ours-4"].data.part)
    for key in ("ours-1", "ours-3", "ours-4"):
        assert b"communication" in drawn(
            found[key]
        ), "a class that Fathom does not have is drawn, too"


def test_spread_moves_positions_as_little_as_possible():
    assert marks.spread([0.0, 0.5, 1.0], 0.1).tolist() == [0.0, 0.5, 1.0]
    assert marks.spread([0.5, 0.5], 0.1) == pytest.approx([0.45, 0.55])
    assert marks.spread([0.9, 0.1, 0.1], 0.2) == pytest.approx([0.9, 0.0, 0.2])
