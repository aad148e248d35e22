"""Measures how good predictions are: every pair of recorded machines, each predicted from the other's run.

Twice: with what a data sheet says of the machine, and with a machine file that was made from the very run that is
predicted, so with rates of the same ops on the same day.
"""

import math
import pathlib
import statistics
from dataclasses import dataclass, replace

from fathom_predict import run as runs
from fathom_predict.machine import OPTIONAL_RATES
from fathom_predict.measure import machine_of
from fathom_predict.model import Model
from fathom_runs.beside import is_beside
from fathom_runs.source import RunError, unpacked

FOLDER = pathlib.Path(__file__).with_name("runs")
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
    cases: list[
        Case
    ]  # with machine files of peaks alone, from other runs of the machine if there are any
    own_run: list[Case]  # the same steps with machine files made from the run that is predicted
    left_out: list[str]  # a line for each file without steps, or that does not describe its machine
    peaks_of: dict[str, str]  # by file: the file whose peaks its `cases` use
    without: tuple[str, ...] = ()  # optional fields of a machine that were not used in `own_run`

    def within(self, us, threads):
        """The size that nine of ten errors of such steps don't exceed. None without recorded steps."""
        is_big = us > BIG_US
        same = [one for one in self.cases if one.is_big == is_big and one.threads == threads]
        alike = same or [one for one in self.cases if one.is_big == is_big] or self.cases
        return nine_of_ten(alike) if alike else None


def by_pair(cases):
    found = {}
    for case in cases:
        found.setdefault((case.here, case.there), []).append(case)
    return found


def measure(folder=FOLDER, without=()):
    """Predicts each step of a recorded run from each run in another folder: a folder is a machine.

    Machines made from the run that is predicted lose their fields `without`. Raises RunError.
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
            recorded[path] = run, machine_of(run)
        except RunError as error:
            left_out.append(str(error).replace(f"{folder}/", "", 1))
    cases, own_run, lost = [], [], {field: {} for field in without}
    sources = {path: peaks_source(path, recorded) for path in recorded}
    for here, (run, machine) in recorded.items():
        for there, (other, its) in recorded.items():
            if here.parent == there.parent:
                continue
            peaks = peaks_alone(recorded[sources[there]][1], machine)
            try:
                first = compared(folder, run, other, machine, peaks)
                second = compared(
                    folder, run, other, *(replace(one, **lost) for one in (machine, its))
                )
            except RunError as error:
                left_out.append(f"{here.parent.name}, {there.parent.name}: {error}")
                continue
            both = {case.name for case in first} & {case.name for case in second}
            cases += [case for case in first if case.name in both]
            own_run += [case for case in second if case.name in both]
    peaks_of = {label(folder, path): label(folder, source) for path, source in sources.items()}
    return Errors(cases, own_run, left_out, peaks_of, tuple(without))


def peaks_source(path, recorded):
    """Another recorded run of the machine, which has all peaks of this one; else the run itself."""
    wanted = settings(recorded[path][1])
    for other, (_, machine) in recorded.items():
        if other.parent == path.parent and other != path and wanted <= settings(machine):
            return other
    return path


def settings(machine):
    """The pairs of precision and thread count of the machine's peaks."""
    rates = machine.peak_gflop_per_s
    return {(precision, threads) for precision in rates for threads in rates[precision]}


def peaks_alone(machine, here):
    """The machine as a data sheet describes it: peaks and caches. Calls are taken to cost what they cost `here`."""
    unknown = {field: {} for field in OPTIONAL_RATES}
    return replace(machine, call_overhead_us=here.call_overhead_us, **unknown)


def files(folder):
    """The JSON files in the folders of machines, without those that fathom_bench writes beside a run."""
    paths = sorted(path for path in folder.glob("*/*") if path.name.endswith(SUFFIXES))
    return [path for path in paths if not is_beside(path)]


def compared(folder, run, other, here, there):
    """The cases of a pair of runs, with what is known about their machines."""
    model = Model(run, here, there)
    measured = {one.name: one.us for one in other.steps}
    names = [label(folder, one.path) for one in (run, other)]
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


def label(folder, path):
    """The folder and the name of a file, without `.gz`."""
    return unpacked(path).relative_to(folder).as_posix()


def median_size(cases):
    return statistics.median(case.size for case in cases)


def nine_of_ten(cases):
    """The size that nine tenths of the errors don't exceed (nearest rank)."""
    sizes = sorted(case.size for case in cases)
    return sizes[math.ceil(0.9 * len(sizes)) - 1]


def worst(cases):
    """The step with the largest error. None without steps."""
    return max(cases, key=lambda case: case.size, default=None)


def big(cases):
    return [case for case in cases if case.is_big]
