"""What the program writes: standard JSON, valid at every moment, the time of every step, the console."""

import json
import math
import pathlib
import re
import signal
import subprocess
import time

from program import ONE_ROW, PROGRAM, QUICK, WITHOUT_GPU, read_json, run, strict_json


def test_json_file_is_strict_and_finite(tmp_path):
    out = tmp_path / "out.json"
    longer = "--benchmark_min_time=0.5"  # 59 samples for percentiles on a busy machine, too
    assert run(*ONE_ROW, longer, f"--benchmark_out={out}").returncode == 0
    (row,) = read_json(out)["benchmarks"]
    assert row["run_type"] == "iteration" and row["time_unit"] == "us" and row["threads"] == 1
    assert all(math.isfinite(value) for value in row.values() if isinstance(value, (int, float)))
    assert (
        row["real_time"] > 0
        and row["flops"] > 0
        and row["min_us"] <= row["p50_us"] <= row["p95_us"]
    )


def test_decoding_has_its_tokens_and_its_share_of_bandwidth(tmp_path):
    out = tmp_path / "out.json"
    arguments = ["--benchmark_filter=^gpt2_decode/", "--fathom_batch=2"]
    assert run(*QUICK, *arguments, f"--benchmark_out={out}").returncode == 0
    (row,), context = (read_json(out)[key] for key in ("benchmarks", "context"))
    seconds = row["real_time"] * 1e-6
    assert math.isclose(row["tokens_per_second"] * seconds, 2)  # one for each sequence
    cache = 2 * 12 * 2 * 513 * 768  # keys and values of 12 layers and 2 sequences
    weights = row["params"] - 1024 * 768  # without the table of positions
    assert math.isclose(row["bytes"] * seconds, 4 * (weights + cache))
    largest = max((level["size"] for level in context["caches"]), default=0)
    # A share of the memory's bandwidth needs data well beyond the caches.
    assert ("bytes_pct_peak" in row) == (4 * (weights + cache) >= 4 * largest)
    assert row.get("bytes_pct_peak", 1) > 0
    assert "peak_bytes_cpu_threads1" in context, "what it is a share of"


def test_context_has_versions_machine_and_settings(tmp_path):
    out = tmp_path / "out.json"
    run(*ONE_ROW, "--fathom_seed=7", f"--benchmark_out={out}")
    context = read_json(out)["context"]
    for key in (
        "fathom_version",
        "git_commit",
        "libtorch",
        "libtorch_mkl",
        "libtorch_onednn",
        "compiler",
        "affinity",
        "openmp",
        "malloc",
        "peak_flops_cpu_threads1_fp32",
        "peak_bytes_cpu_threads1",
        "caches",
    ):
        assert context[key], key
    assert "rom" not in context, "not given"
    assert context["seed"] == "7" and context["data"] == "synthetic"
    assert "--fathom_seed=7" in context["command_line"]


def test_context_has_the_tuning_of_the_process(tmp_path):
    out = tmp_path / "out.json"
    tuned = ["--fathom_mkl=native", "--fathom_malloc=tuned", "--fathom_layout=channels_last"]
    assert run(*ONE_ROW, *tuned, f"--benchmark_out={out}").returncode == 0
    context = read_json(out)["context"]
    assert context["fathom_mkl"] == "native" and context["fathom_malloc"] == "tuned"
    assert context["fathom_layout"] == "channels_last" and context["fathom_cuda_graph"] == "off"


def test_rows_with_convolutions_are_labelled_with_their_layout(tmp_path):
    out = tmp_path / "out.json"
    filter_ = "--benchmark_filter=^(deepq|memnet)/infer/"
    layout = "--fathom_layout=channels_last"
    assert run(*QUICK, filter_, layout, f"--benchmark_out={out}").returncode == 0
    rows = read_json(out)["benchmarks"]
    labels = {row["name"].split("/")[0]: row.get("label", "") for row in rows}
    assert labels == {"deepq": "channels_last", "memnet": ""}


def test_cold_rows_cycle_through_buffers_larger_than_the_caches(tmp_path):
    out = tmp_path / "out.json"
    filter_ = "--benchmark_filter=^op/(matmul/vgg/fc8/forward|fill/vgg/fc8/forward)/"
    result = run(*QUICK, filter_, "--fathom_cache=hot,cold", f"--benchmark_out={out}")
    assert result.returncode == 0
    rows = {row["name"]: row for row in read_json(out)["benchmarks"]}
    cold = [name for name in rows if "/cache:cold/" in name]
    assert {name.split("/")[1] for name in cold} == {"matmul"}, "a number is too small"
    for name in cold:
        assert "bytes_pct_peak" in rows[name]
        assert name.replace("cold", "hot") in rows


def test_json_on_stdout_is_strict_too():
    result = run(*ONE_ROW, "--benchmark_format=json")
    (row,) = strict_json(result.stdout)["benchmarks"]
    assert "first_step_us" in row  # the console shows fewer counters, JSON all


def test_a_pipe_gets_google_benchmarks_console():
    result = run(*ONE_ROW)
    rule, titles, rule_below, row = result.stdout.splitlines()
    assert set(rule) == set(rule_below) == {"-"}
    assert titles.split() == ["Benchmark", "Time", "CPU", "Iterations", "UserCounters..."]
    name, time_, unit, cpu, cpu_unit, iterations, *counters = row.split()
    assert re.fullmatch(
        "op/matmul/vgg/fc8/forward/device:cpu/threads:1/.*/process_time/real_time", name
    )
    assert float(time_) > 0 and float(cpu) > 0 and int(iterations) > 0
    assert unit == cpu_unit == "us"
    shown = {counter.partition("=")[0] for counter in counters}
    assert {"flops", "flops_pct_peak"} <= shown <= {"flops", "flops_pct_peak", "bytes_pct_peak"}
    assert "%/s" not in row
    assert result.stderr.count("[1/1]") == 0  # no status line where stderr is no terminal


def test_the_machine_check_is_recorded_or_skipped(tmp_path):
    out = tmp_path / "out.json"
    run(*ONE_ROW, f"--benchmark_out={out}")
    assert "machine_others" in read_json(out)["context"]
    off = run(*ONE_ROW, "--fathom_machine_check=off", f"--benchmark_out={out}")
    assert off.returncode == 0 and "machine: " not in off.stderr
    found = {key for key in read_json(out)["context"] if key.startswith("machine_")}
    assert found == {"machine_identity"}
    refused = run(*ONE_ROW, "--fathom_machine_check=refuse")
    found = "fathom_bench: --fathom_machine_check=refuse: machine: " in refused.stderr
    assert refused.returncode == (2 if found else 0)


def test_repetitions_of_rows_may_be_interleaved(tmp_path):
    """The task of a row is then built again; all its repetitions have as many iterations."""
    out = tmp_path / "out.json"
    result = run(
        *QUICK,
        "--benchmark_enable_random_interleaving=true",
        "--benchmark_repetitions=4",
        "--benchmark_filter=^op/relu/(memnet|deepq)/.*torch",
        f"--benchmark_out={out}",
    )
    assert result.returncode == 0, result.stderr
    rows = [row for row in read_json(out)["benchmarks"] if row["run_type"] == "iteration"]
    assert {row["repetition_index"] for row in rows} == {0, 1, 2, 3}
    assert len({(row["name"], row["iterations"]) for row in rows}) == len(rows) / 4


def test_repetitions_keep_their_aggregates(tmp_path):
    out = tmp_path / "out.json"
    run(*ONE_ROW, "--benchmark_repetitions=3", f"--benchmark_out={out}")
    rows = read_json(out)["benchmarks"]
    assert [row.get("aggregate_name") for row in rows] == [None] * 3 + [
        "mean",
        "median",
        "stddev",
        "cv",
    ]


def test_samples_hold_every_step_of_every_repetition(tmp_path):
    out, samples = tmp_path / "out.json", tmp_path / "samples.jsonl"
    run(
        *ONE_ROW,
        "--benchmark_repetitions=2",
        f"--benchmark_out={out}",
        f"--fathom_samples={samples}",
    )
    steps = [strict_json(line) for line in samples.read_text().splitlines()]
    for row in read_json(out)["benchmarks"][:2]:
        mine = [step for step in steps if step["repetition"] == row["repetition_index"]]
        assert {step["name"] for step in mine} == {row["name"]}
        assert len(mine) * row["steps_per_sample"] == row["iterations"]
        assert [step["step"] for step in mine] == [
            i * row["steps_per_sample"] for i in range(len(mine))
        ]
        assert math.isclose(min(step["us"] for step in mine), row["min_us"], rel_tol=1e-9)


def test_a_run_removes_earlier_errors_and_its_own_part_file(tmp_path):
    out = tmp_path / "out.json"
    stale = tmp_path / "out.json.errors.jsonl"
    stale.write_text("{}\n")
    run(*ONE_ROW, f"--benchmark_out={out}")
    assert not stale.exists()
    assert not (tmp_path / "out.json.part").exists()


def test_a_killed_run_leaves_its_finished_rows(tmp_path):
    out = tmp_path / "out.json"
    command = [
        PROGRAM,
        *QUICK,
        "--benchmark_filter=^op/matmul/vgg/fc[78]",
        f"--benchmark_out={out}",
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while not out.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    rows = read_json(out)["benchmarks"]
    assert 1 <= len(rows) < 12
    assert all(row["real_time"] > 0 for row in rows)


def test_data_that_is_missing_fails_its_rows_only(tmp_path):
    out = tmp_path / "out.json"
    result = run(
        *QUICK,
        f"--fathom_data={tmp_path}",
        "--benchmark_filter=^(alexnet/infer|op/matmul/vgg/fc8/forward/.*backend:torch/)",
        f"--benchmark_out={out}",
    )
    assert result.returncode == 4
    expected = "imagenet/train: does not exist, expected imagenet/train/<class>/*.JPEG"
    assert expected in result.stderr
    (error,) = (tmp_path / "out.json.errors.jsonl").read_text().splitlines()
    assert expected in strict_json(error)["reason"]
    document = read_json(out)
    assert [row["name"].split("/")[0] for row in document["benchmarks"]] == ["op"]
    assert document["context"]["data"] == str(tmp_path)


def test_no_cuda_library_is_loaded_without_a_gpu(tmp_path):
    out = tmp_path / "out.json"
    rows = "--benchmark_filter=^op/matmul/vgg/fc[78]"
    command = [
        PROGRAM,
        "--fathom_threads=1",
        "--benchmark_min_time=0.01",
        rows,
        f"--benchmark_out={out}",
    ]
    with subprocess.Popen(
        command, env=WITHOUT_GPU, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + 60
        while not out.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        maps = pathlib.Path(f"/proc/{process.pid}/maps").read_text()
        process.kill()
    assert "libtorch_cpu" in maps
    families = "torch_cuda|cublas|cudnn|cufft|curand|cusolver|cusparse|nccl|nvrtc"
    assert not re.findall(rf"/lib(?:{families})[^/\n]*$", maps, re.MULTILINE)


def test_a_run_measures_only_the_peaks_that_its_rows_need(tmp_path):
    out = tmp_path / "out.json"
    run(
        *QUICK,
        "--fathom_batch=1",
        "--benchmark_filter=^alexnet/infer/",
        f"--benchmark_out={out}",
    )
    document = read_json(out)
    assert "flops_pct_peak" in document["benchmarks"][0]
    peaks = [key for key in document["context"] if key.startswith("peak_")]
    assert peaks == ["peak_flops_cpu_threads1_fp32"]


def test_a_users_shapes_become_rows(tmp_path):
    shapes = tmp_path / "shapes.json"
    row = {"op": "matmul", "layer": "tiny", "pass": "forward", "count": 2, "m": 3, "n": 5, "k": 7}
    shapes.write_text(json.dumps({"workload": "mine", "rows": [row]}))
    out = tmp_path / "out.json"
    result = run(
        *QUICK, f"--fathom_shapes={shapes}", "--benchmark_filter=mine", f"--benchmark_out={out}"
    )
    assert result.returncode == 0, result.stderr
    rows = read_json(out)["benchmarks"]
    assert rows and all(r["name"].startswith("op/matmul/mine/tiny/forward/") for r in rows)
    assert all(r["calls_per_model_step"] == 2 and "bytes_pct_peak" not in r for r in rows)


def test_an_update_is_checked_at_each_thread_count(tmp_path):
    out = tmp_path / "run.json"
    finished = run(
        "--fathom_threads=1,2",
        "--benchmark_min_time=0.001",
        "--benchmark_filter=^op/(rmsprop|add|adagrad)/(deepq|autoenc_kingma)/",
        f"--benchmark_out={out}",
    )
    assert finished.returncode == 0, finished.stderr
    names = [row["name"] for row in read_json(out)["benchmarks"]]
    # The state of rmsprop is in the op's inputs, that of adagrad in a torch::optim::Adagrad.
    for rule in ("rmsprop", "adagrad"):
        updates = [name for name in names if f"/{rule}/" in name]
        assert {name.split("/threads:")[1][0] for name in updates} == {"1", "2"}


def test_a_study_of_one_row_says_so_in_the_singular(tmp_path):
    only = [*QUICK, "--fathom_study=fathom", "--benchmark_filter=^memnet/infer/"]
    result = run(*only, f"--benchmark_out={tmp_path / 'out.json'}")
    assert result.returncode == 0
    assert "fathom_bench: 1 row, about 1 minute\n" in result.stderr
