"""Machine files: made from a run, read, and refused."""

import json

import pytest
from made_up_machines import CACHES, FILE, MIB, TINY, machine_file, op, run_file
from program import ROOT, predict

from fathom_predict.machine import read, text
from fathom_predict.measure import machine_of
from fathom_predict.run import read as read_run
from fathom_runs.source import RunError

MACHINES = sorted((ROOT / "results/machines").glob("*.json"))


def made(folder, rows=TINY, **context):
    """The machine of a run."""
    context = {"caches": CACHES, "threads": (1, 2)} | context
    return machine_of(read_run(run_file(folder / "run.json", rows, **context)))


# --- made from a run


def test_the_context_gives_peaks_caches_and_cores(tmp_path):
    found = made(tmp_path, machine_smt="8 CPUs on 4 cores")
    assert found.peak_gflop_per_s == {"fp32": {1: 100, 2: 200}}
    assert found.memory_gb_per_s == {1: 20, 2: 40}
    assert (found.core_cache_bytes, found.last_cache_bytes) == (MIB, 32 * MIB)
    assert (found.name, found.cores) == ("Made-up CPU, 8 CPUs", 4)
    assert found.source == "run.json, 2026-01-01, commit 0000000000"


def test_peaks_of_a_gpu_are_not_the_cpus(tmp_path):
    assert made(tmp_path, gpu=True).peak_gflop_per_s == {"fp32": {1: 100, 2: 200}}


def test_the_overhead_is_the_median_over_types_of_their_fastest_tiny_rows(tmp_path):
    rows = [
        *TINY,
        op("relu", 9, size=100, layer="second", min_us=2),
        op("mul", 0.1, size=4097, layer="second"),  # not tiny
        op("softmax", 0.1, size=8),  # not elementwise
    ]
    assert made(tmp_path, rows).call_overhead_us == (1 + 4) / 2


def test_the_rate_of_products_is_that_of_the_fastest_one_by_its_mean_time(tmp_path):
    rows = [
        *TINY,
        op("matmul", 1000, gflop=0.05, min_us=100),
        op("matmul", 1000, gflop=0.08, layer="second"),
        op("lstm_cell", 1000, gflop=0.09),
    ]
    assert made(tmp_path, rows).matmul_gflop_per_s == {"fp32": {1: 80}}


def test_products_of_quantised_numbers_have_the_rate_of_their_format(tmp_path):
    product = op("quantized_matmul", 1000, gflop=0.3)
    name = product["name"].replace("precision:fp32", "precision:int8")
    rows = [*TINY, op("matmul", 1000, gflop=0.08), product | {"name": name, "run_name": name}]
    rates = made(tmp_path, rows).matmul_gflop_per_s
    assert rates == {"fp32": {1: 80}, "int8": {1: 300}}


def test_the_bandwidth_of_the_cache_is_that_of_ops_whose_bytes_lie_in_it(tmp_path):
    rows = [*TINY, op("relu", 100, size=4e6, layer="second"), op("add", 100, size=16e6)]
    rows += [op("mul", 1, size=MIB, layer="second"), op("mul", 1, size=17 * MIB, layer="third")]
    assert made(tmp_path, rows).cache_gb_per_s == {1: 160}


@pytest.mark.parametrize(
    "two, smt, expected",
    [
        (150, "2 CPUs on 2 cores", 200),  # disturbed
        (180, "2 CPUs on 2 cores", 180),
        (150, "2 CPUs on 1 core", 150),  # two threads of one core
        (150, None, 150),  # older files don't say
    ],
)
def test_a_disturbed_peak_of_two_threads_is_replaced(tmp_path, two, smt, expected):
    context = {"peak_flops_cpu_threads2_fp32": f"{two} GFLOP/s, avx512f multiply-add loop"}
    found = made(tmp_path, **context, **({"machine_smt": smt} if smt else {}))
    assert found.peak_gflop_per_s["fp32"][2] == expected
    assert ("150 GFLOP/s, is 1.5 times that of one" in found.note) == (expected != two)


@pytest.mark.parametrize(
    "rows, context, lacks, expected",
    [
        ([op("conv2d", 10, gflop=1)], {}, "hot elementwise op rows of at most 4096 bytes", "also"),
        (TINY, {"peak_bytes_cpu_threads1": "?", "threads": (1,)}, "peak_bytes_cpu_...", "a run"),
        (TINY, {"peak_flops_cpu_threads1_fp32": "?", "threads": (1,)}, "peak_flops_c", "a run"),
        (TINY, {"caches": CACHES[:2]}, "sizes of two levels of `caches`", "a machine that reports"),
    ],
)
def test_a_run_that_lacks_something_is_refused(tmp_path, rows, context, lacks, expected):
    with pytest.raises(RunError) as error:
        made(tmp_path, rows, **context)
    assert f"run.json: no {lacks}" in str(error.value)
    assert f", expected {expected}" in str(error.value) and "with --from" in str(error.value)


# --- files


def test_a_written_file_is_read_again(tmp_path):
    run, file = run_file(tmp_path / "run.json", TINY, caches=CACHES), tmp_path / "made.json"
    result = predict(run, f"--write-machine={file}")
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{file}: Made-up CPU, 8 CPUs\n"
    assert text(read(str(file))) == file.read_text()


@pytest.mark.parametrize("path", MACHINES, ids=lambda path: path.stem)
def test_a_machine_of_the_project_is_made_from_its_run_or_says_that_it_is_made_up(path):
    """To make it anew: results/predict results/runs/<machine>/<run> --write-machine results/machines/<machine>.json"""
    machine = read(str(path))
    if path.stem.startswith("made-up-"):
        assert "Made-up" in machine.name and machine.note.startswith("Made up, not measured")
    else:
        name = machine.source.split(",")[0]
        files = (ROOT / "results/runs" / path.stem).iterdir()
        (run,) = (file for file in files if file.name in (name, f"{name}.gz"))
        assert path.read_text() == text(machine_of(read_run(run)))


def test_a_recorded_machine_has_a_short_name():
    assert read("made-up-8-cores") == read("made-up-8-cores.json")


# --- errors


@pytest.mark.parametrize(
    "fields, found",
    [
        ({"cores": 2.5}, "cores is '2.5', expected a whole number above 0"),
        ({"call_overhead_us": 0}, "call_overhead_us is '0', expected a number above 0"),
        ({"name": 7}, "name is '7', expected a string"),
        ({"memory_gb_per_s": 20}, "memory_gb_per_s is '20', expected rates by thread count"),
        ({"memory_gb_per_s": {}}, "memory_gb_per_s is '{}', expected rates by thread count"),
        ({"memory_gb_per_s": {"all": 20}}, "expected rates by thread count"),
        ({"memory_gb_per_s": {"1": "20"}}, "memory_gb_per_s of 1 thread is '20', expected a numb"),
        ({"peak_gflop_per_s": {"1": 20}}, "peak_gflop_per_s of 1 is '20', expected rates by thr"),
        ({"peek_gflop_per_s": {}}, "unknown field peek_gflop_per_s, expected one of name, cores"),
    ],
)
def test_a_wrong_field_is_one_line(tmp_path, fields, found):
    file = machine_file(tmp_path / "made.json", **fields)
    with pytest.raises(RunError) as error:
        read(str(file))
    assert str(error.value).startswith(f"{file}: ") and found in str(error.value)


@pytest.mark.parametrize("field", FILE)
def test_a_missing_field_is_named(tmp_path, field):
    file = tmp_path / "made.json"
    file.write_text(json.dumps({key: one for key, one in FILE.items() if key != field}))
    with pytest.raises(RunError, match=f"made.json: no {field}, expected a machine file"):
        read(str(file))


@pytest.mark.parametrize("text, found", [("[1]", "a list at the top"), ("{", "is not JSON")])
def test_another_file_is_refused(tmp_path, text, found):
    file = tmp_path / "made.json"
    file.write_text(text)
    with pytest.raises(RunError, match=f"made.json: {found}"):
        read(str(file))


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(RunError, match="none: no such file, expected .*made-up-8-cores"):
        read("none")
