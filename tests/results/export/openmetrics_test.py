"""results/export openmetrics, as Prometheus' own parser reads it."""

# Runs in the Python of the system.

import made_up_run as made_up
import pytest
from exported import STEP, SUFFIX, exported, names, once, repeated
from made_up_rows import row
from prometheus_client.openmetrics.parser import text_string_to_metric_families

ROW = STEP.removesuffix(SUFFIX)


def gauges(folder, document, *arguments):
    """The gauges by name, from text that an OpenMetrics parser takes whole."""
    text = exported(folder, "openmetrics", document, *(arguments or ["--by=real_time"]))
    found = {one.name: one for one in text_string_to_metric_families(text)}
    assert {one.type for one in found.values()} == {"gauge"}
    assert not [sample for one in found.values() for sample in one.samples if sample.timestamp]
    return found


def values(gauge):
    return {sample.labels["row"]: sample.value for sample in gauge.samples}


def test_a_gauge_has_the_median_time_of_each_row_in_seconds(tmp_path):
    found = values(gauges(tmp_path, repeated())["fathom_real_time_seconds"])
    assert list(found) == [name.removesuffix(SUFFIX) for name in names(once())]
    assert found[ROW] == pytest.approx(made_up.step_us("alexnet") / 1e6)


def test_the_labels_are_the_machine_the_row_and_its_tokens(tmp_path):
    found = gauges(tmp_path, once())["fathom_real_time_seconds"].samples[0].labels
    tokens = dict(token.split(":") for token in ROW.split("/")[2:])
    assert found == {"machine": "Made-up-CPU-8-CPUs", "row": ROW} | tokens


def test_the_machine_can_be_named(tmp_path):
    found = gauges(tmp_path, once(), "--machine", "runner").values()
    assert {sample.labels["machine"] for one in found for sample in one.samples} == {"runner"}


def test_names_of_other_programs_are_quoted(tmp_path):
    name = 'BM_sort<"a\\b">/n:8\n'
    made = {"context": made_up.context(), "benchmarks": [row(name, 5.0)]}
    (sample,) = gauges(tmp_path, made)["fathom_real_time_seconds"].samples
    assert sample.labels.keys() == {"machine", "row"} and sample.labels["row"] == name


def test_the_start_of_the_run_has_its_versions(tmp_path):
    date = "2026-01-01T01:00:00+01:00"
    found = gauges(tmp_path, once(date=date))["fathom_run_start_time_seconds"]
    (sample,) = found.samples
    assert sample.value == 1767225600
    assert {"git_commit": "0" * 40, "libtorch": "2.11.0"}.items() <= sample.labels.items()


@pytest.mark.parametrize(
    "counter, name, share",
    [
        ("first_step_us", "first_step_seconds", 1e6),
        ("peak_memory_bytes", "peak_memory_bytes", 1),
        ("flops", "flop_per_second", 1),
        ("bytes", "bytes_per_second", 1),
        ("algbw", "algbw_bytes_per_second", 1),
        ("flops_pct_peak", "flops_peak_ratio", 100),
        ("energy_j", "energy_joules", 1),
        ("gpu_power_w", "gpu_power_watts", 1),
        ("gpu_clock_mhz", "gpu_clock_hertz", 1e-6),
        ("items_per_second", "items_per_second", 1),
        ("odd-name", "odd_name", 1),
    ],
)
def test_a_counter_is_a_gauge_in_base_units(tmp_path, counter, name, share):
    made = {"context": made_up.context(), "benchmarks": [row("BM_a", 5.0, **{counter: 12.0})]}
    found = gauges(tmp_path, made, "--counter", counter, "--counter", counter)
    assert values(found[f"fathom_{name}"]) == {"BM_a": pytest.approx(12 / share)}
