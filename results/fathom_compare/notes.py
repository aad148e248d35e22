"""Warnings at the top of the page: different programs, interference, and rows that only one side has."""

from fathom_compare import interval
from fathom_compare.machines import UNKNOWN
from fathom_runs import recounted
from fathom_runs.benchmarks import disturbed
from fathom_runs.names import kind, tokens
from fathom_runs.peaks import differing_peaks, low_peaks
from fathom_runs.words import disturbed_words, listed, plural

PROGRAM = ("fathom_version", "git_commit")
DIGITS = 12  # of a commit
MAX_NAMES = 4


def notes(sides, settings):
    """Yields the warnings. `settings` is the table of settings that differ."""
    yield from programs(sides)
    contexts = [context for side in sides for context in side.contexts.values()]
    if words := recounted.sentence(contexts, [name for side in sides for name in side.benchmarks]):
        yield words
    differing = settings[(settings != UNKNOWN).all(axis=1)].field
    if len(differing):
        yield f"These settings differ: {', '.join(differing)}. The table below has their values."
    for side in sides:
        for sentence in (disturbed_of(side), *peaks_of(side)):
            if sentence:
                yield f"{side.letter}: {sentence}"
    base, *others = sides
    for other in others:
        for one, twin in ((base, other), (other, base)):
            yield from only_in(one, twin)


def intervals(comparisons):
    """Yields a sentence if intervals are those of repetitions only."""
    letters = {}
    for one in comparisons:
        for table in (one.steps, one.ops):
            known = table[table.low.notna()]
            for side, files in ((one.base, known.base_files), (one.other, known.other_files)):
                if (files < interval.MIN_FILES).any():
                    letters[side.letter] = None
    if letters:
        have = "has" if len(letters) == 1 else "have"
        yield (
            f"{listed(letters)} {have} one file of some rows. Their intervals are those of the repetitions of one run and "
            f"leave out how much runs differ. {interval.HELD_WORDS}"
        )


def programs(sides):
    """A sentence if not all files come from one program."""
    found = {}
    for side in sides:
        for context in side.contexts.values():
            version, commit = (str(context.get(key, "unknown")) for key in PROGRAM)
            found.setdefault(f"{version}, commit {commit[:DIGITS]}", []).append(side.letter)
    if len(found) > 1:
        parts = [f"{listed(dict.fromkeys(letters))}: {words}" for words, letters in found.items()]
        yield (
            f"The files are of different programs ({'; '.join(parts)}). "
            "A change of the program looks like a difference of the machines."
        )


def disturbed_of(side):
    return disturbed_words(
        *(
            disturbed(one for name, one in side.benchmarks.items() if kind(name) == of_kind)
            for of_kind in ("step", "op")
        )
    )


def peaks_of(side):
    """Sentences about peaks that do not scale or that differ between files, each once."""
    low = (sentence for context in side.contexts.values() for sentence in low_peaks(context))
    return dict.fromkeys((*low, *differing_peaks(side.contexts)))


def only_in(side, other):
    """A sentence about the workloads, threads and batch sizes of steps that the other side lacks."""
    own, its = values(side), values(other)
    parts = [name for name in own["workload"] if name not in its["workload"]]
    parts = [f"workload{'s' * (len(parts) > 1)} {listed(parts, MAX_NAMES)}"] if parts else []
    for key, words in (("threads", ""), ("batch", " of ")):
        missing = {
            group: [one for one in found if one not in its[key][group]]
            for group, found in own[key].items()
            if group in its[key]
        }
        lines = [
            f"{key} {listed(found)}{words}{group if words else ''}"
            for group, found in missing.items()
            if found
        ]
        parts += [listed(lines, MAX_NAMES)] if lines else []
    rows = [name for name in side.benchmarks if kind(name) != "other"]
    lost = sum(name not in other.benchmarks for name in rows)
    if parts:
        yield (
            f"Steps only in {side.letter}: {'; '.join(parts)}. "
            f"{plural(lost, 'row')} of {side.letter} {'has' if lost == 1 else 'have'} no row with the same name "
            f"in {other.letter}."
        )


def values(side):
    """Workloads of a side's steps, threads by device, and batch sizes by workload and mode."""
    found = {"workload": {}, "threads": {}, "batch": {}}
    for name in side.benchmarks:
        if kind(name) == "step":
            workload, mode, *_ = name.split("/")
            part = tokens(name)
            found["workload"][workload] = None
            found["threads"].setdefault(part["device"], {})[part["threads"]] = None
            found["batch"].setdefault(f"{workload}/{mode}", {})[part["batch"]] = None
    return found
