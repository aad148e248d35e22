"""How results/predict splits an op and scales its parts, worked out by hand."""

import pytest
from fathom_runs.source import RunError
from made_up_machines import FAST, MATMUL, MIB, QUICK, WIDE, machine, op, predicted, step


# --- the parts of an op


def test_flops_scale_with_the_peak(tmp_path):
    # 0.1 GFLOP at 100 GFLOP/s are 1000 of 1000 µs.
    rows = step(1000, {"conv2d": 1000}) + [op("conv2d", 1000, gflop=0.1)]
    one = predicted(tmp_path, rows, FAST)
    assert one.us == pytest.approx(250) and one.bound == "compute"


def test_bytes_beyond_the_caches_scale_with_the_memory(tmp_path):
    # 40 MB at 10 GB/s are 4000 of 4000 µs.
    rows = step(4000, {"relu": 4000}) + [op("relu", 4000, size=40e6)]
    one = predicted(tmp_path, rows, WIDE)
    assert one.us == pytest.approx(800) and one.bound == "memory"


def test_the_rest_scales_with_the_overhead_of_a_call(tmp_path):
    rows = step(1000, {"relu": 1000}) + [op("relu", 1000, size=100)]
    one = predicted(tmp_path, rows, QUICK)
    assert one.us == pytest.approx(500) and one.bound == "overhead"


def test_an_op_is_the_sum_of_its_parts(tmp_path):
    # 0.03 GFLOP are 300 of 1000 µs. 3.4 MB lie in the last-level cache, whose bandwidth is unknown: overhead.
    rows = step(1000, {"conv2d": 1000}) + [op("conv2d", 1000, gflop=0.03, size=3.4e6)]
    one = predicted(tmp_path, rows, FAST | QUICK)
    assert one.us == pytest.approx(300 / 4 + 700 / 2)
    assert one.shares["compute"] == pytest.approx(100 * 75 / 425)
    assert sum(one.shares.values()) == pytest.approx(100)


def test_computation_and_traffic_overlap(tmp_path):
    # 0.3 GFLOP and 40 MB need 3000 and 4000 µs, but the op takes 4200: 1800 and 2400.
    rows = step(4200, {"conv2d": 4200}) + [op("conv2d", 4200, gflop=0.3, size=40e6)]
    assert predicted(tmp_path, rows, FAST).us == pytest.approx(1800 / 4 + 2400)


def test_bytes_in_the_cache_scale_with_its_bandwidth(tmp_path):
    # 8 MB at 40 GB/s are 200 of 300 µs.
    rows = step(300, {"relu": 300}) + [op("relu", 300, size=8e6)]
    here = machine(cache_gb_per_s={1: 40})
    one = predicted(tmp_path, rows, {"cache_gb_per_s": {1: 80}}, here)
    assert one.us == pytest.approx(100 + 100) and one.shares["cache"] == pytest.approx(50)


def test_the_cache_counts_only_if_both_machines_know_it(tmp_path):
    rows = step(300, {"relu": 300}) + [op("relu", 300, size=8e6)]
    one = predicted(tmp_path, rows, QUICK, machine(cache_gb_per_s={1: 40}))
    assert one.us == pytest.approx(150) and one.shares["overhead"] == pytest.approx(100)


def test_the_bytes_may_lie_in_another_level_there(tmp_path):
    # 8 MB: in the cache here (40 GB/s, 200 µs), in memory there (10 GB/s).
    rows = step(200, {"relu": 200}) + [op("relu", 200, size=8e6)]
    there = {"cache_gb_per_s": {1: 80}, "last_cache_bytes": 4 * MIB}
    one = predicted(tmp_path, rows, there, machine(cache_gb_per_s={1: 40}))
    assert one.us == pytest.approx(800) and one.bound == "memory"


# --- matrix products


@pytest.mark.parametrize("op_type", ["matmul", "lstm_cell"])
def test_matrix_products_scale_with_their_own_rate(tmp_path, op_type):
    # 0.05 GFLOP at 50 GFLOP/s are 1000 µs. The peak there does not count.
    rows = step(1000, {op_type: 1000}) + [op(op_type, 1000, gflop=0.05)]
    there = FAST | {"matmul_gflop_per_s": {"fp32": {1: 100}}}
    assert predicted(tmp_path, rows, there, machine(**MATMUL)).us == pytest.approx(500)


@pytest.mark.parametrize("here, there", [({}, MATMUL), (MATMUL, {})])
def test_without_the_rate_of_both_machines_the_peaks_count(tmp_path, here, there):
    rows = step(1000, {"matmul": 1000}) + [op("matmul", 1000, gflop=0.1)]
    assert predicted(tmp_path, rows, FAST | there, machine(**here)).us == pytest.approx(250)


def test_the_rate_of_products_grows_with_the_peaks_of_the_threads(tmp_path):
    # There, the rate of one thread is that of here, and two threads have 1.5 times the peak of one.
    rows = step(1000, {"matmul": 1000}, threads=2) + [op("matmul", 1000, gflop=0.05)]
    assert predicted(tmp_path, rows, FAST | MATMUL, machine(**MATMUL)).us == pytest.approx(
        1000 * 2 / 1.5
    )


def test_a_peak_of_another_thread_count_is_named(tmp_path):
    """The op row has one thread, the file only rates of two."""
    rates = {"fp32": {2: 200}}
    here = machine(peak_gflop_per_s=rates, matmul_gflop_per_s=rates)
    rows = step(1000, {"matmul": 1000}, threads=2) + [op("matmul", 1000, gflop=0.1)]
    with pytest.raises(RunError, match="no peak_gflop_per_s of fp32 and threads:1"):
        predicted(tmp_path, rows, here, here)
