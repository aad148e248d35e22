"""A machine as the model needs it, and its file. docs/predict.md lists the fields."""

import json
import pathlib
from dataclasses import dataclass, field, fields

from fathom_runs.precisions import arithmetic
from fathom_runs.program import command
from fathom_runs.source import RunError, is_number, strict_json, text_of
from fathom_runs.words import plural

FOLDER = pathlib.Path(__file__).with_name("machines")
EXPECTED = "expected a machine file (docs/predict.md)"


@dataclass(frozen=True)
class Machine:
    name: str
    cores: int
    peak_gflop_per_s: dict[str, dict[int, float]]  # by precision and thread count
    memory_gb_per_s: dict[int, float]  # by thread count
    core_cache_bytes: float  # of the last cache that one core has for itself
    last_cache_bytes: float  # of the last-level cache
    call_overhead_us: float  # of a LibTorch op on almost no data
    matmul_gflop_per_s: dict[str, dict[int, float]] = field(default_factory=dict)
    cache_gb_per_s: dict[int, float] = field(default_factory=dict)  # last-level cache
    source: str = ""
    note: str = ""

    def peak(self, precision, threads):
        """FLOP/µs. None if the machine has no peak of this precision and thread count."""
        rate = self.peak_gflop_per_s.get(arithmetic(precision), {}).get(threads)
        return rate and rate * 1e3

    def matmul(self, precision, threads):
        """FLOP/µs of LibTorch's matrix products. None if unknown.

        A thread count without a rate has the rate of another one, in proportion to the peaks.
        """
        rates = self.matmul_gflop_per_s.get(precision, {})
        peaks = self.peak_gflop_per_s.get(arithmetic(precision), {})
        known = rates.keys() & peaks.keys()
        if not known or threads not in peaks:
            return None
        near = nearest(known, threads)
        return 1e3 * rates[near] * peaks[threads] / peaks[near]


def nearest(counts, threads):
    """The largest of the thread counts up to `threads`, or the smallest of all."""
    return max((one for one in counts if one <= threads), default=min(counts))


# --- files


def find(name):
    """The path of a machine file, or of a file of results/machines by its name. Raises RunError."""
    path = pathlib.Path(name)
    if path.exists():
        return path
    known = FOLDER / f"{name.removesuffix('.json')}.json"
    if path.name == name and known.exists():
        return known
    raise RunError(f"{name}: no such file, expected a machine file or one of {names()}")


def names():
    """The machines of results/machines, in one string."""
    return ", ".join(sorted(one.stem for one in FOLDER.glob("*.json")))


def read(name):
    """Reads a machine file. Raises RunError."""
    path = find(name)
    try:
        value = strict_json(text_of(path))
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path}: is not JSON ({error}), {EXPECTED}") from error
    if not isinstance(value, dict):
        raise RunError(f"{path}: a {type(value).__name__} at the top, {EXPECTED}")
    if "benchmarks" in value:
        raise RunError(
            f"{path}: is a run, {EXPECTED}; {command('predict')} {path} --write-machine machine.json makes it"
        )
    for key in REQUIRED:
        if key not in value:
            raise RunError(f"{path}: no {key}, {EXPECTED}")
    for key in value:
        if key not in PARSERS:
            raise RunError(f"{path}: unknown field {key}, expected one of {', '.join(PARSERS)}")
    return Machine(**{key: PARSERS[key](f"{path}: {key}", one) for key, one in value.items()})


def is_machine_file(text):
    """Whether the text of a file is a machine, of which some fields may be wrong."""
    try:
        value = strict_json(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "peak_gflop_per_s" in value


def text(machine):
    """The content of a machine file. Empty fields are left out."""
    values = {one.name: getattr(machine, one.name) for one in fields(Machine)}
    return json.dumps({key: one for key, one in values.items() if one}, indent=1) + "\n"


def string(place, value):
    return expect(place, value, isinstance(value, str), "a string")


def positive(place, value):
    return expect(place, value, is_number(value) and value > 0, "a number above 0")


def count(place, value):
    return expect(place, value, type(value) is int and value > 0, "a whole number above 0")


def by_threads(place, value):
    """Rates by thread count; the keys of JSON objects are strings."""
    is_table = isinstance(value, dict) and value and all(map(is_count, value))
    expect(place, value, is_table, 'rates by thread count, like {"1": 100, "2": 200}')
    return {
        int(key): positive(f"{place} of {plural(int(key), 'thread')}", one)
        for key, one in value.items()
    }


def is_count(text):
    return text.isdecimal() and int(text) > 0


def by_precision(place, value):
    is_table = isinstance(value, dict) and value
    expect(place, value, is_table, 'rates by precision, like {"fp32": {"1": 100}}')
    return {key: by_threads(f"{place} of {key}", one) for key, one in value.items()}


def expect(place, value, is_right, expected):
    if not is_right:
        raise RunError(f"{place} is {str(value)[:40]!r}, expected {expected}")
    return value


PARSERS = {
    "name": string,
    "cores": count,
    "peak_gflop_per_s": by_precision,
    "memory_gb_per_s": by_threads,
    "core_cache_bytes": positive,
    "last_cache_bytes": positive,
    "call_overhead_us": positive,
    "matmul_gflop_per_s": by_precision,
    "cache_gb_per_s": by_threads,
    "source": string,
    "note": string,
}
OPTIONAL_RATES = ("matmul_gflop_per_s", "cache_gb_per_s")
REQUIRED = [key for key in PARSERS if key not in (*OPTIONAL_RATES, "source", "note")]
