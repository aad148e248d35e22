"""Measures how good predictions are: every pair of recorded machines, each predicted from the other's run."""

import math
import pathlib
import statistics
from dataclasses import dataclass, replace

from fathom_predict import run as runs
from fathom_predict.measure import machine_of
from fathom_predict.model import Model
from fathom_runs.beside import is_beside
from fathom_runs.source import RunError, unpacked

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "runs"
BIG_US = 1e5  # a big step takes longer than 100 ms
SUFFIXES = (".json", ".json.gz")


@dataclass(frozen=True)
class Case:
    """One step, predicted from one file and measured in another."""

    here: str  # folder and name of the file, without `.gz`
    there: str
    name: str
    threads: int
    measured_us: float
    error: float  # predicted / measured - 1

    @property
    def size(self):
        return abs(self.error)

    @property
    def is_big(self):
        return self.measured_us > BIG_US


@dataclass(frozen=True)
class Errors:
    cases: list[Case]
    left_out: list[str]  # a line for each file without steps, or that does not describe its machine
    without: tuple[str, ...] = ()  # optional fields of a machine that were not used

    @property
    def pairs(self):
        """Cases by pair of files."""
        found = {}
        for case in self.cases:
            found.setdefault((case.here, case.there), []).append(case)
        return found


def measure(folder=FOLDER, without=()):
    """Predicts each step of a recorded run from each run in another folder: a folder is a machine.

    The machines lose their fields `without`. Raises RunError.
    """
    if not folder.is_dir():
        raise RunError(
            f"{folder}: no such folder, expected recorded runs, in a folder for each machine"
        )
    recorded, left_out = {}, []
    for path in files(folder):
        try:
            run = runs.read(path)
            runs.expect_steps(run)
            recorded[path] = run, replace(machine_of(run), **{field: {} for field in without})
        except RunError as error:
            left_out.append(str(error).replace(f"{folder}/", "", 1))
    cases = []
    for here in recorded:
        for there in recorded:
            if here.parent == there.parent:
                continue
            try:
                cases += compared(folder, recorded[here], recorded[there])
            except RunError as error:
                left_out.append(f"{here.parent.name}, {there.parent.name}: {error}")
    return Errors(cases, left_out, tuple(without))


def files(folder):
    """The JSON files in the folders of machines, without those that fathom_bench writes beside a run."""
    paths = sorted(path for path in folder.glob("*/*") if path.name.endswith(SUFFIXES))
    return [path for path in paths if not is_beside(path)]


def compared(folder, here, there):
    """The cases of a pair. Of the second run, only its machine counts for the prediction."""
    (run, machine), (other, other_machine) = here, there
    model = Model(run, machine, other_machine)
    measured = {one.name: one.us for one in other.steps}
    names = [unpacked(one.path).relative_to(folder).as_posix() for one in (run, other)]
    return [
        Case(
            *names,
            step.name,
            step.threads,
            measured[step.name],
            model.predict(step).us / measured[step.name] - 1,
        )
        for step in run.steps
        if step.name in measured and not model.missing(step)
    ]


def median_size(cases):
    return statistics.median(case.size for case in cases)


def nine_of_ten(cases):
    """The size that nine tenths of the errors don't exceed (nearest rank)."""
    sizes = sorted(case.size for case in cases)
    return sizes[math.ceil(0.9 * len(sizes)) - 1]


def worst(cases):
    """The big step with the largest error. None without big steps."""
    return max((case for case in cases if case.is_big), key=lambda case: case.size, default=None)
