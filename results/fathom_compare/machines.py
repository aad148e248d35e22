"""Tables of the machines side by side, and of the settings in which they differ."""

import pandas as pd

from fathom_page.machine import CARDS, peaks, text
from fathom_runs.benchmarks import disturbed
from fathom_runs import context
from fathom_runs.context import rate
from fathom_runs.names import kind
from fathom_runs.words import factor

LABELS = {key: label for card in CARDS.values() for key, label in card.items()}
# Fields of the context that name the machine and the program.
FIELDS = (
    "machine_name",
    "cpu",
    "cpu_family",
    "cpu_model",
    "cpu_stepping",
    "num_cpus",
    "machine_smt",
    "mhz_per_cpu",
    "caches",
    "cpu_capability",
)
FIELDS += ("gpu", "gpu_memory_bytes", "libtorch", "fathom_version", "git_commit", "date")
INTERFERENCE = ("machine_others", "machine_steal")  # other users of the CPUs, before the run
UNKNOWN = "not recorded"


def machines(sides):
    """One row per fact, one column per side."""
    rows = {"files": {side.letter: "; ".join(side.contexts) for side in sides}}
    for key in FIELDS:
        rows[LABELS.get(key, key)] = {side.letter: value(side, key) for side in sides}
    for side in sides:
        for name, words in side_peaks(side, sides[0]):
            rows.setdefault(f"peak: {name}", {})[side.letter] = words
    for key in INTERFERENCE:
        rows[LABELS[key]] = {side.letter: value(side, key) for side in sides}
    for one, words in (("step", "disturbed steps"), ("op", "disturbed ops")):
        rows[words] = {side.letter: disturbed_text(side, one) for side in sides}
    rows["rows with stolen time"] = {side.letter: stolen_text(side) for side in sides}
    return table({name: row for name, row in rows.items() if any(row.values())}, sides)


def settings(sides):
    """The settings and versions that differ between sides or between files of a side."""
    rows = {}
    for key in dict.fromkeys(
        key for side in sides for one in side.contexts.values() for key in context.settings(one)
    ):
        found = {side.letter: value(side, key) for side in sides}
        if len(set(found.values())) > 1 or any("; " in one for one in found.values()):
            rows[LABELS.get(key, key)] = {letter: one or UNKNOWN for letter, one in found.items()}
    return table(rows, sides)


def table(rows, sides):
    frame = pd.DataFrame.from_dict(rows, "index", columns=[side.letter for side in sides])
    return frame.fillna("").rename_axis("field").reset_index()


def value(side, key):
    """The distinct values in the files of a side."""
    found = [text(key, one[key]) for one in side.contexts.values() if key in one]
    if key == "date":
        found = [date[:16].replace("T", " ") for date in found]
    return "; ".join(dict.fromkeys(filter(None, found)))


def side_peaks(side, base):
    """Pairs of name and text of each measured peak, with its ratio to that of the base."""
    known = dict(all_peaks(base))
    for name, words in all_peaks(side):
        old, new = rate(known.get(name)), rate(words)
        ratio = (
            f" ({factor(new / old)} × {base.letter})" if side is not base and old and new else ""
        )
        yield name, words.partition(",")[0] + ratio


def all_peaks(side):
    """The peaks of the first file that has them."""
    found = {}
    for one in side.contexts.values():
        found = dict(peaks(one)) | found
    return found.items()


def disturbed_text(side, of_kind):
    found = [one for name, one in side.benchmarks.items() if kind(name) == of_kind]
    count, known = disturbed(found)
    return f"{count} of {known}" if known else ""


def stolen_text(side):
    """How many rows lost time to the hypervisor."""
    found = [one.median("stolen_us") for one in side.benchmarks.values()]
    known = [us for us in found if us is not None]
    return f"{sum(us > 0 for us in known)} of {len(known)}" if known else ""
