"""Selection of rows for the figures of results/report."""

import made_up_run as made_up
import pytest
from made_up_figures import folder, load, of

from fathom_report import selection


def test_variants_only_replace_missing_workloads(folder):
    rows = made_up.step("vgg")
    for row in rows:
        row["name"] = row["run_name"] = row["name"].replace("vgg/", "vgg_repo/")
    both = of(folder, "fathom-2", extra=rows)
    assert "vgg_repo" not in set(both.data.workload)
    single = of(folder, "fathom-2", workloads=("alexnet",), extra=rows)
    assert set(single.data.workload) == {"alexnet", "vgg_repo"}


def test_a_name_with_an_underscore_is_not_a_variant(folder):
    rows = made_up.step("vgg")
    for row in rows:
        row["name"] = row["run_name"] = row["name"].replace("vgg/", "vgg_v3/")
    figure = of(folder, "fathom-2", extra=rows)
    assert {"vgg", "vgg_v3"} < set(figure.data.workload)


@pytest.mark.parametrize("batch", [4, 8, 16])
def test_the_default_batch_size_of_the_context_is_used(folder, batch):
    batches = made_up.CATALOGUE["default_batches"].replace("vgg/train:8", f"vgg/train:{batch}")
    document = made_up.document(("vgg",), scales=(0.5, 1, 2), default_batches=batches)
    run = load(folder, document)
    table, _ = selection.training_types(run)
    assert set(table.batch) == {batch}


def test_steps_run_the_native_kernel(folder):
    fast = made_up.row(made_up.op_name("relu", "vgg", "first", "native"), 1, calls_per_model_step=4)
    run = load(folder, made_up.document(workloads=("vgg",), extra=[fast]))
    ops = selection.step_backend_rows(run.ops)
    relu = ops[ops.type == "relu"].set_index("layer").backend
    assert dict(relu) == {"first": "native", "second": "torch"}


def test_in_steps_tells_the_backend_of_the_step(folder):
    document = made_up.document(workloads=("vgg",))
    for row in document["benchmarks"]:
        if row["name"].startswith("op/relu/") and "backend:torch" in row["name"]:
            row["in_steps"] = 1
    fast = made_up.row(made_up.op_name("relu", "vgg", "first", "native"), 1, calls_per_model_step=4)
    run = load(folder, document | {"benchmarks": [*document["benchmarks"], fast]})
    ops = selection.step_backend_rows(run.ops)
    assert set(ops[ops.type == "relu"].backend) == {"torch"}
