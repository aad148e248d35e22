"""The documents say what the program says."""

import re

from program import ONE_ROW, QUICK, ROOT, read_json, run

README = (ROOT / "README.md").read_text()
FIELDS = (ROOT / "results/README.md").read_text()


def test_readme_has_the_table_of_workloads():
    assert run("--fathom_models").stdout in README


def test_readme_names_every_option_and_no_other():
    offered = set(re.findall(r"--fathom_\w+", run("--help").stdout))
    assert set(re.findall(r"--fathom_\w+", README)) == offered


def documented(field):
    return re.search(rf"^\|[^|]*`{re.escape(field)}`", FIELDS, re.MULTILINE)


def test_every_field_of_the_json_is_documented(tmp_path):
    out = tmp_path / "out.json"
    run(*ONE_ROW, "--benchmark_repetitions=2", f"--benchmark_out={out}")
    document = read_json(out)
    for field in document["context"]:
        generic = re.sub(r"^(peak_flops|peak_bytes)_.*", r"\1_…", field)
        assert documented(generic), field
    for row in document["benchmarks"]:
        for field in row:
            assert documented(field), field


def test_fields_of_watched_model_rows_are_documented(tmp_path):
    out = tmp_path / "out.json"
    row = [*QUICK, "--benchmark_filter=^memnet/train"]
    run(*row, "--fathom_memory", "--fathom_profile", f"--benchmark_out={out}")
    for row in read_json(out)["benchmarks"]:
        for field in row:
            assert documented(re.sub("^memory_(?!peak)[a-z]+_", "memory_<class>_", field)), field


def test_fields_of_fixture_rows_are_documented(tmp_path):
    out = tmp_path / "out.json"
    run(*QUICK, "--benchmark_filter=^fixture/", f"--benchmark_out={out}")
    rows = read_json(out)["benchmarks"]
    assert len(rows) == 5
    for row in rows:
        for field in row:
            assert documented(field), field


def test_fields_that_only_data_a_rom_or_a_gpu_bring_are_documented():
    for field in ("skipped_items", "rom", "gpu_busy_pct", "gpu_time_us"):
        assert documented(field), field
