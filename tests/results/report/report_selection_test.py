"""Selection of rows for the figures of results/report."""

import made_up_ranks
import made_up_run as made_up
import pytest
from made_up_figures import figures, folder, load, of, with_backends

from fathom_page.figure import Missing
from fathom_report import selection
from fathom_runs.names import kind

KEYS = [f"{group}-{n}" for group in ("fathom", "tbd", "ours") for n in range(1, 5)]
KEYS += ["fathom-5", "fathom-6"]


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


def test_in_steps_tells_the_backend_of_the_step(folder):
    document = made_up.document(workloads=("vgg",))
    for layer, in_steps in (("first", {"in_steps": 1}), ("second", {})):
        name = made_up.op_name("relu", "vgg", layer, "native")
        document["benchmarks"].append(made_up.row(name, 1, calls_per_model_step=4, **in_steps))
        if in_steps:
            (twin,) = [
                row
                for row in document["benchmarks"]
                if row["name"].startswith(name.replace("native", "torch"))
            ]
            del twin["in_steps"]
    ops = selection.step_backend_rows(load(folder, document).ops)
    relu = ops[ops.type == "relu"].set_index("layer").backend
    assert dict(relu) == {"first": "native", "second": "torch"}


def test_of_two_versions_whose_steps_run_other_kernels_the_last_file_counts(folder):
    name = made_up.op_name("relu", "vgg", "first", "native")
    row = made_up.row(name, 1, calls_per_model_step=4, in_steps=1)
    ops = selection.step_backend_rows(load(folder, made_up.document(("vgg",), extra=[row])).ops)
    assert ops[(ops.type == "relu") & (ops.layer == "first")].backend.tolist() == ["native"]


# --- rows with ranks


@pytest.fixture(scope="module")
def with_and_without_ranks(folder):
    """The figures of a run, and those of the run with rows of several ranks, which come first."""
    workloads = ("vgg", "memnet")
    document = made_up.document(workloads, threads=(1, 2), scales=(0.5, 1), memory=True, cold=True)
    document = with_backends(document)
    rows = document["benchmarks"]
    ranks = made_up_ranks.rows(workloads)
    for row in ranks:  # no other row has these values
        row |= {"disturbed_steps": 0, "flops": 9e12, "bytes": 9e12, "flops_pct_peak": 99}
        row |= {"memory_features_at_peak_bytes": 9e9, "memory_peak_bytes": 9e9}
    samples = made_up.samples("vgg")
    more = [line.replace("/threads:1/", "/threads:1/ranks:2/") for line in samples]
    alone = load(folder, document | {"benchmarks": rows}, samples)
    together = load(folder, document | {"benchmarks": ranks + rows}, more + samples)
    return figures(alone), figures(together)


@pytest.mark.parametrize("key", [*KEYS, "ours-5"])
def test_other_figures_show_no_rows_with_ranks(with_and_without_ranks, key):
    alone, together = (found[key] for found in with_and_without_ranks)
    assert together.data.equals(alone.data) and together.sentence == alone.sentence


# --- steps on several backends


SHARES = {"onednn": 0.9, "tuned": 0.6, "mine": 3}


@pytest.fixture(scope="module")
def with_and_without_others(folder):
    """The figures of a run, and those of the run with all its steps on other backends, too. Their rows come first."""
    options = {"threads": (1, 2), "scales": (0.5, 1), "memory": True, "cold": True, "gpu": True}
    document = made_up.document(("vgg", "memnet"), **options)
    samples = made_up.samples("vgg")
    found = [figures(load(folder, document, samples))]
    document = with_backends(document, SHARES, ("step", "inside"))
    document["benchmarks"].sort(key=lambda row: "backend:torch" in row["name"])
    for backend in SHARES:
        samples += [line.replace("backend:torch", f"backend:{backend}") for line in samples]
    return *found, figures(load(folder, document, samples))


@pytest.mark.parametrize("key", KEYS)
def test_figures_show_steps_on_torch_only(with_and_without_others, key):
    alone, together = (found[key] for found in with_and_without_others)
    assert together.data.equals(alone.data) and together.sentence == alone.sentence


def on_tuned_only(document):
    """The rows of the document, with backend tuned in place of torch for steps. Ops stay."""
    rows = with_backends(document, {"tuned": 0.6}, ("step", "inside"))["benchmarks"]
    return [row for row in rows if kind(row["name"]) == "op" or "backend:tuned" in row["name"]]


def test_another_backend_is_named_if_no_step_ran_on_torch(folder):
    document = made_up.document(memory=True)
    found = figures(load(folder, document | {"benchmarks": on_tuned_only(document)}))
    for key in ("fathom-2", "fathom-3", "fathom-4", "tbd-3"):
        assert found[key].sentence.endswith("Setting: CPU, 1 thread, fp32, backend tuned.")
    for key in ("fathom-5", "tbd-4", "ours-2", "ours-4", "ours-5"):
        assert isinstance(found[key], Missing), "these compare with ops or with torch"
    assert set(found["ours-1"].data.kind) == {"op"}


def test_thread_counts_of_two_backends_are_not_one_series(folder):
    document = made_up.document(threads=(1, 2), op_rows=False)
    document["benchmarks"] += on_tuned_only(made_up.document(threads=(4,), op_rows=False))
    data = figures(load(folder, document))["fathom-6"].data
    assert set(data.threads) == {1, 2}


def test_batch_sizes_of_two_backends_are_not_a_sweep(folder):
    other = on_tuned_only(made_up.document(("vgg",), scales=(2,), op_rows=False))
    figure = of(folder, "tbd-1", workloads=("vgg",), extra=other)
    assert isinstance(figure, Missing)


def test_ops_are_not_compared_with_steps_on_other_backends(folder):
    """With two threads, the run has ops, but steps on backend tuned only."""
    document = made_up.document(("vgg", "memnet"), op_rows=False)
    document["context"] = made_up.context(threads=(1, 2))
    document["benchmarks"] += on_tuned_only(made_up.document(("vgg", "memnet"), threads=(2,)))
    found = figures(load(folder, document))
    for key in ("tbd-4", "ours-2", "ours-4"):
        assert isinstance(found[key], Missing)
    assert set(found["ours-1"].data.kind) == {"op"}


def test_native_kernels_of_steps_are_on_the_roofline(folder):
    name = made_up.op_name("lrn", "vgg", "norm1", "native")
    row = made_up.row(name, 5, flops=5e9, bytes=1e9, calls_per_model_step=1, in_steps=1)
    data = of(folder, "ours-1", extra=[row]).data
    assert "lrn" in set(data.type)
