"""The runs in results/runs/ have the names and fields of today."""

import made_up_run as made_up
import pytest
from eager_steps import TRAINING_ONLY
from program import RECORDED_RUNS, gate, read_json

from fathom_runs.benchmarks import read_fathom
from fathom_runs.context import IDENTITY_LIST, SETTINGS_LIST
from fathom_runs.names import MODES, kind, step_of

# Op shapes that steps run on kernels of which the file has no rows; tbd-native-ops.json.gz has those of tbd-study.
ON_OTHER_KERNELS = {"tbd-study.json.gz": 30, "onednn-libtorch.json.gz": 40}


@pytest.mark.parametrize("path", RECORDED_RUNS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_recorded_run_lists_its_op_types_and_workloads(path):
    found = read_fathom(path)
    catalogue = found.catalogue
    for benchmark in found.measured:
        parts = benchmark.name.split("/")
        if kind(benchmark.name) == "op" and "/ranks:" not in benchmark.name:
            assert parts[1] in catalogue.op_classes
        elif kind(benchmark.name) == "inside" and benchmark.label != "framework":
            op_type = step_of(benchmark.name)[1]  # or the name of an op that no type covers
            assert catalogue.op_classes.get(op_type, "elementwise") == benchmark.label
        elif kind(benchmark.name) == "step":
            assert f"{parts[0]}/{parts[1]}" in catalogue.default_batches
    workloads = {name.split("/")[0] for name in catalogue.default_batches}
    assert {f"{name}/infer" for name in workloads - TRAINING_ONLY} <= set(catalogue.default_batches)
    modes = {name.split("/")[1] for name in catalogue.default_batches}
    assert {"train", "infer"} <= modes <= set(MODES)
    assert set(catalogue.variant_of) | set(catalogue.variant_of.values()) <= workloads


@pytest.mark.parametrize("path", RECORDED_RUNS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_recorded_run_has_the_fields_of_today(path):
    found = read_fathom(path)
    context = found.context
    assert context[IDENTITY_LIST].split() and context[SETTINGS_LIST].split()
    assert context["library_build_type"] == "release" and context["google_benchmark_build_type"]
    marked = {}  # by op shape on one device: whether a row says that steps run it
    for one in found.measured:
        if kind(one.name) == "op" and "/ranks:" not in one.name:
            shape, _, backend = one.name.partition("/backend:")
            if backend.split("/")[0] in ("torch", "native"):
                marked[shape] = marked.get(shape, 0) + (one.median("in_steps") == 1)
        steps = one.steps and one.steps / max(1, one.median("steps_per_sample", 1))
        assert not steps or "p95_us" not in one.counters or steps >= 59
    assert sum(count != 1 for count in marked.values()) == ON_OTHER_KERNELS.get(path.name, 0)


def test_the_gate_needs_no_op_types_and_workloads_in_the_context(tmp_path):
    document = made_up.document(workloads=("memnet",))
    rows = list(made_up.repeated(document["benchmarks"], [1 + k / 1000 for k in range(9)]))
    new = made_up.write(tmp_path / "new.json", document | {"benchmarks": rows})
    context = {
        key: value
        for key, value in read_json(new)["context"].items()
        if key not in made_up.CATALOGUE
    }
    base = made_up.write(tmp_path / "base.json", {"context": context, "benchmarks": rows})
    assert gate(base, new).returncode == 3  # two runs have no verdict
