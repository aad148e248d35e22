"""Which files are of one machine, and which settings differ: from the lists in the files, or without them."""

import re

import made_up_run as made_up
import pytest
from program import ROOT, compare, export, gate, history, report

from fathom_runs.benchmarks import read_fathom
from fathom_runs.context import (
    SETTINGS,
    by_machine,
    described,
    differing_settings,
    other_machine,
    settings,
    title,
    titles,
)
from fathom_runs.peaks import differing_peaks

RECORDED = ROOT / "results/runs"
ZEN4 = RECORDED / "amd-epyc-zen4-2-cores/short-study.json.gz"
ZEN5 = RECORDED / "amd-epyc-zen5-2-cores/full-study.json.gz"
OLD = {"cpu": "A CPU", "num_cpus": 2, "libtorch": "2.11.0"}
LISTS = {"machine_identity": "cpu num_cpus cpu_family", "settings": "libtorch environment"}
NEW = OLD | LISTS | {"cpu_family": "25", "environment": "default"}
PEAK = "peak_flops_cpu_threads1_fp32"


def contexts_of(folders):
    paths = sorted(path for folder in folders for path in folder.glob("*.json.gz"))
    return {path: read_fathom(path).context for path in paths}


# --- the rule


def test_files_name_the_fields_of_their_machine():
    assert other_machine(NEW, NEW | {"host_name": "another", "environment": "MKL_CBWR=AVX"}) is None
    assert other_machine(NEW, NEW | {"cpu_family": "26"}) == "cpu_family"
    assert other_machine(NEW, {**NEW, "cpu_family": None}) == "cpu_family"


def test_a_field_that_an_older_program_did_not_know_is_not_compared():
    assert other_machine(OLD, NEW) is None and other_machine(NEW, OLD) is None
    assert differing_settings(OLD, NEW) == []
    assert other_machine(OLD, NEW | {"num_cpus": 4}) == "num_cpus"


@pytest.mark.parametrize("field", ["cpu", "gpu", "num_cpus", "caches", "cpu_capability"])
def test_without_lists_the_hardware_counts(field):
    assert other_machine(OLD, OLD | {field: "other"}) == field


def test_settings_are_those_of_the_files():
    assert settings(NEW) == ("libtorch", "environment") and settings(OLD) == SETTINGS
    assert differing_settings(NEW, NEW | {"environment": "MKL_CBWR=AVX"}) == ["environment"]
    assert differing_settings(OLD, NEW | {"libtorch": "2.12.0"}) == ["libtorch"]


def test_vector_instructions_that_the_environment_chose_are_a_setting():
    usual = NEW | {"cpu_capability": "AVX512"}
    usual |= {"machine_identity": NEW["machine_identity"] + " cpu_capability"}
    chosen = NEW | {"cpu_capability": "AVX2", "settings": NEW["settings"] + " cpu_capability"}
    assert other_machine(usual, chosen) is None
    assert differing_settings(usual, chosen) == ["cpu_capability"]


def test_an_older_file_is_of_the_machine_that_it_fits():
    newer = NEW | {"cpu_family": "26"}
    groups = by_machine({"a": NEW, "b": newer, "c": NEW, "old": OLD, "d": OLD | {"num_cpus": 4}})
    assert groups == [["a", "c"], ["b", "old"], ["d"]]


def test_equal_names_get_the_first_difference():
    assert titles([NEW, OLD | {"num_cpus": 1}]) == ["A CPU, 2 CPUs", "A CPU, 1 CPU"]
    assert titles([NEW, NEW | {"cpu_family": "26"}]) == [
        "A CPU, 2 CPUs, cpu_family 25",
        "A CPU, 2 CPUs, cpu_family 26",
    ]


def test_a_machine_can_have_a_name():
    assert title(NEW | {"machine_name": "lab 3"}) == "lab 3 (A CPU)"
    assert described(NEW | {"cpu_model": "17"}) == "A CPU (family 25 model 17)"


def test_peaks_of_one_machine_that_differ_are_named():
    def files(*rates):
        return {str(n): {PEAK: f"{rate} GFLOP/s, loop"} for n, rate in enumerate(rates)}

    assert not list(differing_peaks(files(100, 109)))
    (sentence,) = differing_peaks(files(100, 150, 101))
    assert f"{PEAK} of 1 is 1.5 times that of 0" in sentence and "machine_name" in sentence
    assert not list(differing_peaks(files(100) | {"x": {}, "y": {PEAK: "unknown"}}))


# --- the recorded machines


def test_the_recorded_runs_are_of_six_machines():
    folders = [one for one in RECORDED.iterdir() if one.is_dir()]
    groups = by_machine(contexts_of(folders))
    assert sorted(tuple({path.parent.name for path in group}) for group in groups) == sorted(
        (folder.name,) for folder in folders
    )


def test_zen_4_and_zen_5_are_two_machines(tmp_path):
    for refused in (
        gate(ZEN4, ZEN5),
        report(ZEN4, ZEN5, "-o", tmp_path / "report.html"),
    ):
        assert refused.returncode == 2
        assert "caches is L1 48 KiB, L2 1 MiB, L3 32 MiB, in " in refused.stderr
        assert (
            "it is L1 32 KiB, L2 1 MiB, L3 32 MiB; expected files of one machine" in refused.stderr
        )


def test_zen_4_and_zen_5_have_two_titles():
    assert titles([read_fathom(path).context for path in (ZEN4, ZEN5)]) == [
        "AMD EPYC, 2 CPUs, L1 32 KiB, L2 1 MiB, L3 32 MiB",
        "AMD EPYC, 2 CPUs, L1 48 KiB, L2 1 MiB, L3 32 MiB",
    ]


# --- the programs


def written(folder, **files):
    """Files of made-up runs; each value is the fields that its context adds."""
    return [
        made_up.write(
            folder / f"{name}.json", made_up.document(workloads=("memnet", "vgg"), **fields)
        )
        for name, fields in files.items()
    ]


def test_history_has_a_section_for_each_name(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    lists = {"machine_identity": "cpu num_cpus machine_name", "settings": "libtorch"}
    written(
        folder,
        a=lists | {"machine_name": "one", "date": "2026-01-01T00:00:00+00:00"},
        b=lists | {"machine_name": "two", "date": "2026-01-02T00:00:00+00:00"},
    )
    result = history(folder, "-o", tmp_path / "page.html")
    assert "2 machines" in result.stdout
    page = (tmp_path / "page.html").read_text()
    assert "one (Made-up CPU), 8 CPUs" in page and "two (Made-up CPU), 8 CPUs" in page


def test_a_report_names_peaks_that_differ(tmp_path):
    files = written(tmp_path, a={PEAK: "100 GFLOP/s, loop"}, b={PEAK: "150 GFLOP/s, loop"})
    page = tmp_path / "page.html"
    assert report(*files, "-o", page).returncode == 0
    assert f"{PEAK} of {files[1]} is 1.5 times that of {files[0]}" in page.read_text()


def test_compare_tells_machines_apart_and_names_peaks_that_differ(tmp_path):
    """Two machines with one name, and two files of the first."""
    caches = [{"type": "Data", "level": 1, "size": 49152, "num_sharing": 1}]
    slow, fast = {PEAK: "100 GFLOP/s, loop"}, {PEAK: "150 GFLOP/s, loop"}
    files = written(tmp_path, a=slow, b=fast, c=slow | {"caches": caches})
    page = tmp_path / "page.html"
    assert compare(*files, "-o", page).returncode == 0
    text = page.read_text()
    heading = re.search("<h1>(.*?)</h1>", text, re.DOTALL)[1]
    assert "A: Made-up CPU, 8 CPUs, L3 32 MiB" in heading
    assert "B: Made-up CPU, 8 CPUs, L1 48 KiB" in heading
    assert f"A: {PEAK} of {files[1]} is 1.5 times that of {files[0]}" in text


def test_lnt_knows_the_machine_by_its_name(tmp_path):
    (file,) = written(tmp_path, a={"machine_name": "lab-3", "cpu_capability": "AVX2"})
    out = tmp_path / "report.json"
    assert export("lnt", file, "-o", out).returncode == 0
    assert '"name": "lab-3"' in out.read_text()
