"""Rows in formats whose weights are whole numbers of few bits."""

import os

import pytest

from program import QUICK, read_json, run

NO_VNNI = {**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}


def by_precision(folder, filter_, precisions, *options, **how):
    """The rows of a run by their precision."""
    file = folder / "run.json"
    options = [f"--fathom_precision={precisions}", f"--benchmark_filter={filter_}", *options]
    result = run(*QUICK, *options, f"--benchmark_out={file}", **how)
    assert result.returncode == 0, result.stderr
    rows = read_json(file)["benchmarks"]
    return {row["name"].split("/precision:")[1].split("/")[0]: row for row in rows}


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    return by_precision(tmp_path_factory.mktemp("steps"), "^deepq/infer", "fp32,bf16,int8")


def test_a_step_on_onednn_names_its_kernels(tmp_path):
    row = by_precision(tmp_path, "^deepq/infer", "int8", "--fathom_backend=onednn")["int8"]
    assert "/backend:onednn/" in row["name"]
    assert row["label"].startswith("oneDNN ")
    assert "onednn::" not in row["label"]
    assert 0 < row["distance_to_fp32"] < 0.1


def test_onednn_has_no_steps_of_weights_alone(tmp_path):
    options = ["--fathom_backend=onednn", "--fathom_precision=int8w", "--benchmark_list_tests"]
    result = run(*options, "--benchmark_filter=^gpt2/infer")
    assert "precision:int8w" not in result.stdout


def test_a_step_has_the_flops_of_fp32_and_names_its_kernels(steps):
    assert steps["int8"]["flops_per_step"] == steps["fp32"]["flops_per_step"]
    assert "onednn::qconv2d_pointwise" in steps["int8"]["label"]
    assert "onednn::qlinear_pointwise" in steps["int8"]["label"]


def test_a_step_tells_its_distance_to_fp32(steps):
    assert "distance_to_fp32" not in steps["fp32"]
    assert 0 < steps["bf16"]["distance_to_fp32"] < 0.05
    assert 0 < steps["int8"]["distance_to_fp32"] < 0.1


def test_an_op_tells_its_kernel_its_packed_bytes_and_its_error(tmp_path):
    shapes = tmp_path / "shapes.json"
    shapes.write_text(
        '{"workload": "mine", "rows": [{"op": "quantized_matmul", "layer": "a", "pass": "forward",'
        ' "infer_count": 1, "m": 1, "n": 64, "k": 256, "format": "int4w"}]}'
    )
    for backend, kernel in (("torch", "_weight_int4pack_mm"), ("native", "packed_linear")):
        rows = f"^op/quantized_matmul/mine.*{backend}/"
        row = by_precision(tmp_path, rows, "int4w,fp32", f"--fathom_shapes={shapes}")["int4w"]
        assert kernel in row["label"]
        assert 0.05 < row["quantization_error"] < 0.12
        packed = 64 * (128 + 8 * 2 * 2)
        assert row["bytes"] * row["real_time"] / 1e6 == pytest.approx(packed + 4 * (256 + 64))


def test_without_vnni_weights_have_7_bits(tmp_path):
    row = by_precision(tmp_path, "^deepq/infer", "int8", env=NO_VNNI)["int8"]
    assert "7-bit weights" in row["label"]
    assert 0 < row["distance_to_fp32"] < 0.1


def test_training_has_no_rows_in_them():
    result = run(*QUICK, "--fathom_precision=int8", "--benchmark_filter=^deepq/train")
    assert result.returncode == 3
    assert "nearest: deepq/infer" in result.stderr
