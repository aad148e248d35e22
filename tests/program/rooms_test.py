"""Who may include whom: the arrows between the rooms point one way, and each library is seen by its own room only."""

import re
import subprocess

import pytest

from program import ROOT

ROOMS = {
    "fixtures": {"fixtures"},
    "ops": {"fixtures", "ops"},
    "models": {"fixtures", "ops", "models"},
    "benchmarks": {"fixtures", "ops", "models", "benchmarks"},
    "tests": {"fixtures", "ops", "models", "benchmarks", "tests"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')


def sources(room):
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", room],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return [
        ROOT / name
        for name in listed
        if name.endswith((".h", ".cc", ".cu", ".in")) and (ROOT / name).exists()
    ]


def includes(file):
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if match := INCLUDE.match(line):
            yield f"{file.relative_to(ROOT)}:{number}", match[1]


@pytest.mark.parametrize("room", ROOMS)
def test_arrows_point_one_way(room):
    files = sources(room)
    assert files
    for place, header in (found for file in files for found in includes(file)):
        target = header.split("/")[0]
        assert target not in ROOMS or target in ROOMS[room], f"{place} includes {header}"


@pytest.mark.parametrize("folder", ["ops/backends/onednn", "ops/backends/cuda"])
def test_backends_see_no_libtorch(folder):
    def reached(file, seen):
        for place, header in includes(file):
            assert not header.startswith(("ATen/", "c10/", "torch/")), f"{place} includes {header}"
            local = ROOT / header
            if local.exists() and local not in seen:
                seen.add(local)
                reached(local, seen)

    for file in sources(folder):
        reached(file, set())


def test_only_onednn_code_sees_onednn():
    for room in ROOMS:
        for file in sources(room):
            for place, header in includes(file):
                assert (
                    not header.startswith("oneapi/") or "ops/backends/onednn/" in place
                ), f"{place} includes {header}"


def test_only_one_file_sees_ale():
    for room in ROOMS:
        for file in sources(room):
            for place, header in includes(file):
                assert not header.startswith("ale/") or file.name == "ale.cc", place


def test_google_benchmark_comes_through_one_header():
    for file in sources("benchmarks") + sources("tests"):
        for place, header in includes(file):
            assert header != "benchmark/benchmark.h" or file.name == "google_benchmark.h", place


def test_nobody_includes_all_of_torch():
    for room in ROOMS:
        for file in sources(room):
            for place, header in includes(file):
                assert header not in ("torch/torch.h", "torch/all.h", "torch/nn.h"), place
