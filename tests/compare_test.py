"""The real compare.py reads our files and pairs every row."""

import os
import pathlib
import re
import subprocess

import pytest

from program import QUICK, read_json, run

COMPARE = pathlib.Path(os.environ.get("FATHOM_COMPARE", "/usr/share/benchmark/compare.py"))
ROWS = [*QUICK, "--benchmark_filter=^op/matmul/vgg/fc8"]

pytestmark = pytest.mark.skipif(
    not COMPARE.exists(), reason=f"no {COMPARE}; install libbenchmark-tools"
)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    files = [folder / "a.json", folder / "b.json"]
    for file in files:
        assert run(*ROWS, f"--benchmark_out={file}").returncode == 0
    return files


def compared(*arguments):
    result = subprocess.run(
        ["/usr/bin/python3", COMPARE, "--no-color", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    rows = [line for line in result.stdout.splitlines() if "process_time/real_time" in line]
    return [line for line in rows if re.search(r"[+-]\d+\.\d+\s+[+-]\d+\.\d+", line)], result.stdout


def test_benchmarks_mode_pairs_every_row(outputs):
    rows, _ = compared("benchmarks", *outputs)
    assert len(rows) == len(read_json(outputs[0])["benchmarks"])


def test_filters_mode_pairs_backend_with_backend(outputs):
    names = [row["name"] for row in read_json(outputs[0])["benchmarks"]]
    if not any("backend:onednn" in name for name in names):
        pytest.skip("built without oneDNN")
    rows, text = compared("filters", outputs[0], "backend:torch/", "backend:onednn/")
    assert len(rows) == len(names) / 2
    assert "[backend:torch/ vs. backend:onednn/]" in text


def test_filters_mode_pairs_pass_with_pass(outputs):
    rows, _ = compared("filters", outputs[0], "/dgrad/", "/wgrad/")
    assert len(rows) == len(read_json(outputs[0])["benchmarks"]) / 3
