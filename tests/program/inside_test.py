"""The parts of a model row's step: op types, phases and memory."""

import math
import statistics

from program import QUICK, read_json, run, strict_json

SUFFIX = "/process_time/real_time"
CLASSES = ("weights", "gradients", "optimizer", "features", "inputs", "temporaries", "workspace")


def test_profile_adds_a_row_for_each_op_type_inside_a_step(tmp_path):
    out = tmp_path / "out.json"
    row = "--benchmark_filter=^(memnet/train|op/matmul/memnet/H/forward/.*torch/)"
    assert run(*QUICK, row, "--fathom_profile", f"--benchmark_out={out}").returncode == 0
    rows = read_json(out)["benchmarks"]
    (model,) = [
        row for row in rows if row["name"].startswith("memnet/train") and "/op:" not in row["name"]
    ]
    head = model["name"].removesuffix(SUFFIX) + "/op:"
    parts = {
        row["name"].removeprefix(head).removesuffix(SUFFIX): row
        for row in rows
        if head in row["name"]
    }
    assert {"adam", "batched_matmul", "embedding", "framework", "matmul", "softmax"} <= set(parts)
    assert math.isclose(sum(part["pct_of_step"] for part in parts.values()), 100, rel_tol=1e-6)
    assert parts["adam"]["calls_per_step"] == 1 and parts["adam"]["label"] == "optimization"
    assert "calls_per_step" not in parts["framework"]
    assert all(part["real_time"] > 0 and part["cpu_time"] > 0 for part in parts.values())
    assert [row["name"] for row in rows].index(model["name"]) == 0  # its parts follow it


def test_profile_follows_repetitions(tmp_path):
    out = tmp_path / "out.json"
    arguments = [
        "--benchmark_filter=^memnet/infer",
        "--fathom_profile",
        "--benchmark_repetitions=3",
    ]
    assert run(*QUICK, *arguments, f"--benchmark_out={out}").returncode == 0
    rows = [row for row in read_json(out)["benchmarks"] if "/op:matmul/" in row["name"]]
    measured = [row["real_time"] for row in rows if row["run_type"] == "iteration"]
    found = {row["aggregate_name"]: row for row in rows if row["run_type"] == "aggregate"}
    assert [row["repetition_index"] for row in rows[:3]] == [0, 1, 2]
    assert math.isclose(found["mean"]["real_time"], statistics.mean(measured), rel_tol=1e-6)
    assert math.isclose(found["median"]["real_time"], statistics.median(measured), rel_tol=1e-6)
    assert math.isclose(found["stddev"]["real_time"], statistics.stdev(measured), rel_tol=1e-4)
    share = statistics.stdev(measured) / statistics.mean(measured)
    assert math.isclose(found["cv"]["real_time"], share, rel_tol=1e-4)


def test_phases_of_training_add_up_to_a_step(tmp_path):
    out = tmp_path / "out.json"
    arguments = ["--benchmark_filter=^deepq/", "--fathom_profile", "--benchmark_repetitions=3"]
    assert run(*QUICK, *arguments, f"--benchmark_out={out}").returncode == 0
    rows = [row for row in read_json(out)["benchmarks"] if "/op:" not in row["name"]]
    measured = [row for row in rows if row["run_type"] == "iteration"]
    train = [row for row in measured if row["name"].startswith("deepq/train/")]
    infer = [row for row in measured if row["name"].startswith("deepq/infer/")]
    assert (len(train), len(infer)) == (3, 3)
    phases = [[row[f"{phase}_us"] for phase in ("forward", "backward", "update")] for row in train]
    assert all(us > 0 for repetition in phases for us in repetition)
    # Interference only lengthens times, so the shortest ones of the three repetitions agree.
    share = min(map(sum, phases)) / min(row["min_us"] for row in train)
    assert 0.8 < share < 2
    assert not any("forward_us" in row for row in infer)


def test_memory_of_a_step_is_reported_by_class(tmp_path):
    out = tmp_path / "out.json"
    filter_ = "--benchmark_filter=^autoenc/"
    assert run(*QUICK, filter_, "--fathom_memory", f"--benchmark_out={out}").returncode == 0
    train, infer = read_json(out)["benchmarks"]
    for row in train, infer:
        assert sum(row[f"memory_{c}_at_peak_bytes"] for c in CLASSES) == row["memory_peak_bytes"]
        assert row["memory_weights_bytes"] == 4 * row["params"]
    assert train["memory_gradients_bytes"] == train["memory_gradients_predicted_bytes"]
    assert train["memory_optimizer_bytes"] == 8 * train["params"]  # Adam's two moments
    assert train["memory_features_bytes"] > 0 and infer["memory_features_bytes"] == 0
    assert "memory_features_predicted_bytes" not in train


def test_samples_hold_the_op_types_of_each_profiled_step(tmp_path):
    out, samples = tmp_path / "out.json", tmp_path / "samples.jsonl"
    files = [f"--benchmark_out={out}", f"--fathom_samples={samples}"]
    assert (
        run(*QUICK, "--benchmark_filter=^memnet/infer", "--fathom_profile", *files).returncode == 0
    )
    rows = {row["name"]: row for row in read_json(out)["benchmarks"]}
    steps = [strict_json(line) for line in samples.read_text().splitlines()]
    assert {step["name"] for step in steps} == set(rows)
    (matmul,) = [name for name in rows if name.endswith("/op:matmul" + SUFFIX)]
    times = [step["us"] for step in steps if step["name"] == matmul]
    assert len(times) == rows[matmul]["iterations"]
    assert math.isclose(statistics.mean(times), rows[matmul]["real_time"], rel_tol=1e-6)
