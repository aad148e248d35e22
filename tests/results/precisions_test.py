"""The formats of numbers: their order, and the peaks that were measured in them."""

import pytest

from fathom_page.machine import peaks
from fathom_runs.peaks import flops_peak
from fathom_runs.precisions import place


def test_formats_go_from_wide_to_narrow_and_unknown_ones_are_last():
    names = ["fp6", "q4_0", "int4w", "q8_0", "int8w", "int8", "fp8", "fp16", "bf16", "tf32", "fp32"]
    assert sorted(names, key=place) == names[::-1]


@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp6"])
def test_a_format_of_products_has_a_peak_of_its_own(precision):
    context = {
        f"peak_flops_cpu_threads2_{precision}": "3.5 TFLOP/s, oneDNN GEMM",
        "peak_flops_cpu_threads2_other": "1 TFLOP/s, oneDNN GEMM",
    }
    assert flops_peak(context, "cpu", 2, precision) == 3.5e12
    assert peaks(context)[0] == (f"cpu, 2 threads, {precision}", "3.5 TFLOP/s, oneDNN GEMM")


@pytest.mark.parametrize(
    "precision, arithmetic",
    [("int8w", "fp32"), ("int4w", "fp32"), ("q8_0", "int8"), ("q4_0", "int8")],
)
def test_a_format_of_weights_alone_has_the_peak_of_its_arithmetic(precision, arithmetic):
    context = {f"peak_flops_cpu_threads2_{arithmetic}": "3.5 TFLOP/s, oneDNN GEMM"}
    assert flops_peak(context, "cpu", 2, precision) == 3.5e12


def test_peaks_of_a_machine_are_in_the_order_of_the_formats():
    keys = [
        "bytes_cpu_threads1",
        *(f"flops_cpu_threads1_{one}" for one in ("int8", "bf16", "fp32")),
    ]
    found = [name for name, _ in peaks({f"peak_{key}": "1 G/s" for key in keys})]
    assert found == [f"cpu, 1 thread, {one}" for one in ("fp32", "bf16", "int8", "memory")]
