"""Reads files into sides. A side is a machine with a version of LibTorch."""

import itertools
import statistics
import string
from dataclasses import dataclass

from fathom_runs import context
from fathom_runs.benchmarks import Benchmark, read_fathom
from fathom_runs.catalogue import Catalogue
from fathom_runs.labels import file_labels
from fathom_runs.peaks import Roof, flops_peak, roof
from fathom_runs.rows import expect_names
from fathom_runs.source import RunError
from fathom_runs.words import listed

MAX_FILES = 2  # in a title
LETTERS = string.ascii_uppercase


@dataclass(frozen=True)
class Side:
    letter: str  # its name on the page
    title: str
    contexts: dict[str, dict]  # by path of the file
    catalogue: Catalogue  # of all files; the last file counts if they differ
    benchmarks: dict[str, Benchmark]  # by name, with the repetitions of all files
    runs: dict[
        str, list[list[float]]
    ]  # by name: for each file with the row, the times of its repetitions in µs

    @property
    def path(self):
        """The first file, for error messages."""
        return next(iter(self.contexts))

    def peak_flops(self, *setting):
        """The measured FLOP/s peak of a device, thread count and precision: the median over the files, or None."""
        found = [flops_peak(one, *setting) for one in self.contexts.values()]
        return statistics.median(filter(None, found)) if any(found) else None

    def roof(self, *setting):
        """The measured roof of the same: of each peak the median over the files, or None."""
        found = [roof(one, *setting) for one in self.contexts.values()]
        found = [one for one in found if one]
        return Roof(*map(statistics.median, zip(*found))) if found else None


def read(paths, against=()):
    """The sides in the order of their first files. `against` are the files of a second side. Raises RunError."""
    expect_once([*paths, *against])
    files = {path: read_fathom(path) for path in (*paths, *against)}
    if against:
        groups = [one_machine(files, group) for group in (paths, against)]
    else:
        groups = list(by_machine(files).values())
    if len(groups) == 1:
        raise RunError(
            f"{listed_briefly(paths)}: of one machine and one LibTorch, expected files of two; "
            "--against FILE names the files of a second side"
        )
    if len(groups) > len(LETTERS):
        raise RunError(
            f"{paths[0]}: {len(groups)} machines with this file, expected at most {len(LETTERS)}"
        )
    expect_different_runs(files)
    names = titles([[(path, files[path].context) for path in group] for group in groups])
    return [
        side(letter, name, {path: files[path] for path in group})
        for letter, name, group in zip(LETTERS, names, groups)
    ]


def by_machine(files):
    """Groups of paths. Files of one side agree in the machine and in LibTorch."""
    groups = {}
    machines = context.by_machine({path: found.context for path, found in files.items()})
    numbers = {path: number for number, group in enumerate(machines) for path in group}
    for path, found in files.items():
        groups.setdefault((numbers[path], found.context.get("libtorch")), []).append(path)
    return groups


def one_machine(files, group):
    """The group. Raises RunError if its files are of several machines."""
    for path in group[1:]:
        context.same_machine(path, files[path].context, group[0], files[group[0]].context)
    return group


def expect_once(paths):
    for path in paths:
        if paths.count(path) > 1:
            raise RunError(f"{path}: is given twice, expected each run once")


def expect_different_runs(files):
    """Raises RunError if two files have the same content: as two runs they would look free of noise."""
    for (path, one), (other, twin) in itertools.combinations(files.items(), 2):
        if one == twin:
            raise RunError(f"{other}: has the content of {path}, expected another run")


def listed_briefly(paths):
    return f"{paths[0]} and {len(paths) - 1} more" if len(paths) > 1 else paths[0]


def titles(groups):
    """The machine of each side, with its LibTorch or else with its files if two sides would have the same title."""
    contexts = [group[0][1] for group in groups]
    machines = context.titles(contexts)
    with_libtorch = [
        f"{name}, LibTorch {one.get('libtorch', 'unknown')}"
        for name, one in zip(machines, contexts)
    ]
    for names in (machines, with_libtorch):
        if len(set(names)) == len(names):
            return names
    labels = file_labels({path for group in groups for path, _ in group})
    return [
        f"{name}, {listed([labels[path] for path, _ in group], MAX_FILES)}"
        for name, group in zip(machines, groups)
    ]


def side(letter, name, files):
    entries, runs, catalogue = {}, {}, Catalogue()
    for path, found in files.items():
        catalogue |= found.catalogue
        expect_names(path, found.measured)
        for one in found.measured:
            entries.setdefault(one.name, []).extend(one.entries)
            runs.setdefault(one.name, []).append(one.times_us)
    contexts = {str(path): found.context for path, found in files.items()}
    benchmarks = {name: Benchmark(name, rows) for name, rows in entries.items()}
    return Side(letter, name, contexts, catalogue, benchmarks, runs)
