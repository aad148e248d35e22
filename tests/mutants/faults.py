"""Reads the faults, faults/AREA.toml, and their outcomes, results.jsonl."""

import collections
import hashlib
import json
import pathlib
import tomllib
from dataclasses import asdict, dataclass

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RESULTS = HERE / "results.jsonl"
AREAS = ("models", "ops", "cost", "loop", "ranks", "statistics", "readers")
MIN_PER_AREA = 6


@dataclass(frozen=True)
class Fault:
    """An entry of a file in faults/."""

    area: str
    id: str
    file: str
    find: str  # a text that occurs once in the file
    replace: str
    says: str  # what the fault does

    @property
    def digest(self):
        """Changes with the fault, but not with its sentence."""
        text = "\0".join((self.file, self.find, self.replace))
        return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Outcome:
    """What happened to a fault. A line of results.jsonl."""

    id: str
    outcome: str  # caught, survived or does not compile
    test: str  # the first failing test; empty without one
    seconds: int
    commit: str
    fault: str  # Fault.digest


def read_faults():
    """All faults, area by area."""
    texts = {area: (HERE / f"faults/{area}.toml").read_text() for area in AREAS}
    return [
        Fault(area=area, **entry)
        for area, text in texts.items()
        for entry in tomllib.loads(text)["fault"]
    ]


def read_outcomes(faults):
    """Outcomes by id of the faults that did not change since."""
    if not RESULTS.exists():
        return {}
    found = [Outcome(**json.loads(line)) for line in RESULTS.read_text().splitlines()]
    digests = {fault.id: fault.digest for fault in faults}
    return {one.id: one for one in found if digests.get(one.id) == one.fault}


def write_outcomes(faults, outcomes):
    lines = [json.dumps(asdict(outcomes[one.id])) + "\n" for one in faults if one.id in outcomes]
    part = RESULTS.with_suffix(".part")
    part.write_text("".join(lines))
    part.replace(RESULTS)


def problems(faults, root):
    """Yields a line for each fault that cannot be planted in the sources below `root`."""
    for name, count in collections.Counter(fault.id for fault in faults).items():
        if count > 1:
            yield f"{name}: {count} faults have this id"
    for area in AREAS:
        if (count := sum(fault.area == area for fault in faults)) < MIN_PER_AREA:
            yield f"{area}: {count} faults, expected at least {MIN_PER_AREA}"
    for fault in faults:
        path = root / fault.file
        if not path.is_file():
            yield f"{fault.id}: {fault.file} does not exist"
        elif (count := path.read_text().count(fault.find)) != 1:
            yield f"{fault.id}: {fault.file} has its text {count} times, expected once: {fault.find!r}"
        elif fault.find == fault.replace:
            yield f"{fault.id}: the fault changes nothing"
