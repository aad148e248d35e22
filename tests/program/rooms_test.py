"""Who may include whom: the arrows between the rooms point one way, and each library is seen by its own room only."""

import re

import pytest

from program import ROOT

READERS = ["fixtures", "fixtures/files", "fixtures/machine"]
BACKENDS = ["fixtures/*", "ops/core", "ops/cuda", "ops/kernels", "ops/backends/onednn"]
TYPES = ["fixtures/*", "ops/core", "ops/kernels"]
PROGRAM = ["benchmarks", "fixtures/*", "ops/*", "models/*"]
ROWS = [f"benchmarks/{room}" for room in ("machine", "options", "tasks", "rows")]

# What the rooms may include beside themselves; "ops/*" is every room in ops/. A room holds what lies in its folder and in
# no other room. Folders that share a rule have one line, "models/*".
RULES = {
    "fixtures/files": [],
    "fixtures/machine": ["fixtures/files"],
    "fixtures/ranks": ["fixtures/files", "fixtures/machine"],
    "fixtures/*": READERS,
    "fixtures": ["fixtures/files", "fixtures/machine"],
    "ops/core": ["fixtures/*"],
    "ops/cuda": ["fixtures/*", "ops/core"],
    "ops/kernels": ["fixtures/*", "ops/core", "ops/cuda"],
    "ops/backends/onednn": ["fixtures/machine", "ops/core"],
    "ops/backends/cuda": ["ops/core", "ops/cuda", "ops/kernels"],
    "ops/backends/operators": BACKENDS,
    "ops/backends": BACKENDS,
    "ops/types/*": TYPES,
    "ops/types": [*TYPES, "ops/types/*"],
    "ops/profiler": ["fixtures/*", "ops/*"],
    "models": ["fixtures/*", "ops/*"],
    "models/*": ["fixtures/*", "ops/*", "models"],
    "benchmarks": [],
    "benchmarks/machine": PROGRAM,
    "benchmarks/options": [*PROGRAM, "benchmarks/machine"],
    "benchmarks/tasks": [*PROGRAM, "benchmarks/machine"],
    "benchmarks/rows": [*PROGRAM, *ROWS],
    "benchmarks/ranks": [*PROGRAM, *ROWS],
    "benchmarks/measure": [*PROGRAM, *ROWS, "benchmarks/ranks"],
    "benchmarks/output": [*PROGRAM, *ROWS, "benchmarks/measure"],
    "benchmarks/explain": [*PROGRAM, *ROWS, "benchmarks/measure", "benchmarks/output"],
    "benchmarks/isolate": [
        *PROGRAM,
        *ROWS,
        "benchmarks/ranks",
        "benchmarks/measure",
        "benchmarks/output",
    ],
    "benchmarks/main.cc": [*PROGRAM, "benchmarks/*"],
    "tests": ["fixtures/*", "ops/*", "models/*", "benchmarks/*"],
}
HOUSE = ("fixtures", "ops", "models", "benchmarks", "tests")
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')
SUFFIXES = (".h", ".cc", ".cu", ".in")


def sources(room):
    files = [ROOT / room] if (ROOT / room).is_file() else sorted((ROOT / room).rglob("*"))
    return [file for file in files if file.suffix in SUFFIXES and file.is_file()]


def folders_in(room):
    return [f"{room}/{one.name}" for one in sorted((ROOT / room).iterdir()) if one.is_dir()]


def rooms_of_the_tree():
    """Each room of RULES, and the folders that have their rule from a line with "/*"."""
    rooms = {room: allowed for room, allowed in RULES.items() if not room.endswith("/*")}
    for line in (line for line in RULES if line.endswith("/*")):
        for folder in folders_in(line[:-2]):
            rooms.setdefault(folder, RULES[line])
    return rooms


ROOMS = rooms_of_the_tree()


def includes(file):
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if match := INCLUDE.match(line):
            yield f"{file.relative_to(ROOT)}:{number}", match[1]


def room_of(path):
    rooms = [room for room in ROOMS if f"{path}/".startswith(f"{room}/")]
    return max(rooms, key=len, default=None)


def may_include(room, other):
    allowed = ROOMS[room]
    return other == room or any(
        f"{other}/".startswith(entry[:-1]) if entry.endswith("/*") else other == entry
        for entry in allowed
    )


@pytest.mark.parametrize("room", ROOMS)
def test_arrows_point_one_way(room):
    files = [file for file in sources(room) if room_of(file.relative_to(ROOT)) == room]
    wrong = [
        f"{place} includes {header}"
        for file in files
        for place, header in includes(file)
        if (other := room_of(header)) and not may_include(room, other)
    ]
    assert files
    assert not wrong, "\n".join(wrong)


def test_every_file_has_a_room():
    for file in (file for part in HOUSE for file in sources(part)):
        assert room_of(file.relative_to(ROOT)), file


@pytest.mark.parametrize(
    "parent", ["fixtures", "ops", "ops/backends", "ops/types", "models", "benchmarks"]
)
def test_every_folder_is_a_room(parent):
    assert [one for one in folders_in(parent) if sources(one) and one not in ROOMS] == []


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
    for room in HOUSE:
        for file in sources(room):
            for place, header in includes(file):
                assert (
                    not header.startswith("oneapi/") or "ops/backends/onednn/" in place
                ), f"{place} includes {header}"


def test_only_one_file_sees_ale():
    for room in HOUSE:
        for file in sources(room):
            for place, header in includes(file):
                assert not header.startswith("ale/") or file.name == "ale.cc", place


def test_google_benchmark_comes_through_one_header():
    for file in sources("benchmarks") + sources("tests"):
        for place, header in includes(file):
            assert header != "benchmark/benchmark.h" or file.name == "google_benchmark.h", place


def test_nobody_includes_all_of_torch():
    for room in HOUSE:
        for file in sources(room):
            for place, header in includes(file):
                assert header not in ("torch/torch.h", "torch/all.h", "torch/nn.h"), place
