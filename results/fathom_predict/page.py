"""The content of both outputs: a prediction with its errors, and the errors of all pairs."""

import string
from collections import Counter

from fathom_predict.errors import Errors, big, by_pair, median_size, nine_of_ten, worst
from fathom_predict.machine import OPTIONAL_RATES
from fathom_predict.parts import PARTS
from fathom_predict.run import OWN as OWN_TYPES
from fathom_predict.tables import Table
from fathom_runs import recounted
from fathom_runs.names import short
from fathom_runs.words import factor, listed, percent, plural, time_words

SHARES = tuple(f"{part}, %" for part in PARTS)
TIMES = ("here", "predicted", "ratio", "9 of 10 within", *SHARES)
COUNTS = ("steps", "median", "big", "their median", "9 of 10 within", "worst")
PAIR = ("steps", "median", "big", "median ", "9 of 10", "worst")  # the same, narrower
OWN_COLUMNS = ("threads", "batch")
PEAKS, OWN = "peaks alone", "the run that is predicted"
OPEN = "errors of such predictions: open, until two machines are recorded, in two folders, with the same steps"
EXPLAINED = (
    "big: steps above 100 ms; of these the median error, what nine of ten do not exceed, the worst",
    f"{PEAKS}: a file of peaks and caches, if possible of another run; calls cost what they cost here",
    f"{OWN}: a file with the rates of ops in the very run that is predicted",
)


def prediction(found, is_text):
    """The blocks of a Found. For a terminal the table is narrow, and lines say what is not as usual."""
    yield f"from {found.run_path}: {found.here.name}"
    yield f"to {found.there_name}: {found.there.name}"
    for line in found.notes:
        yield f"note: {line}"
    if is_text:
        yield narrow(found)
        others = Counter(one.source for one in found.predictions if one.source != OWN_TYPES)
        for source, count in others.items():
            yield f"note: split by {source}, not by op types of their own: {plural(count, 'step')}"
    else:
        yield wide(found)
    if not found.errors.cases:
        yield OPEN
        return
    yield "9 of 10 within: the error that nine of ten recorded steps of such a length did not exceed"
    yield from totals("errors of such predictions", found.errors)


def narrow(found):
    """Threads and batch have columns of their own, the part that bounds the step stands with its share."""
    rows = []
    for one in found.predictions:
        step, bound = one.step, f"{one.bound} {one.shares[one.bound]:.0f} %"
        name = [
            part
            for part in named(step.name).split("/")
            if part.partition(":")[0] not in OWN_COLUMNS
        ]
        sizes = [str(step.threads), str(step.batch)]
        rows.append(["/".join(name), *sizes, *times(found, one), bound])
    heads = ["step", "threads", "batch", *TIMES[:4], "bound by"]
    return Table(heads, rows, heads[1:-1])


def wide(found):
    rows = [
        [
            named(one.step.name),
            *times(found, one),
            *(f"{one.shares[part]:.0f}" for part in PARTS),
            one.bound,
            one.source,
        ]
        for one in found.predictions
    ]
    return Table(["step", *TIMES, "bound by", "split by"], rows, TIMES)


def times(found, one):
    """The columns TIMES up to the error."""
    within = found.errors.within(one.us, one.step.threads)
    words = "" if within is None else percent(100 * within)
    return [time_words(one.step.us), time_words(one.us), factor(one.us / one.step.us), words]


def named(name):
    """The name of a step without what all predicted steps have in common, and without fp32."""
    for usual in ("/device:cpu", "/backend:torch", "/precision:fp32"):
        name = name.replace(usual, "")
    return short(name)


def totals(head, errors: Errors):
    """The errors of all pairs, those with peaks alone first."""
    kinds = {PEAKS: errors.cases, OWN: errors.own_run}
    rows = [
        [f"{kind}{words}", *counts(cases)]
        for kind, every in kinds.items()
        for words, cases in groups(every)
    ]
    yield Table([head, *COUNTS], rows, COUNTS)
    if errors.without:
        yield f"{OWN}: here without {listed(errors.without)}"


def groups(cases):
    """All cases; if there are several thread counts, those of each. With words."""
    threads = sorted({case.threads for case in cases})
    by_threads = [
        (f", threads:{count}", [case for case in cases if case.threads == count])
        for count in threads
    ]
    return [("", cases), *(by_threads if len(threads) > 1 else ())]


def counts(cases):
    """The columns COUNTS."""
    large = big(cases)
    found = [str(len(cases)), percent(100 * median_size(cases)), str(len(large))]
    if not large:
        return [*found, "", "", ""]
    sizes = (median_size(large), nine_of_ten(large), worst(large).error)
    return [*found, *(percent(100 * size) for size in sizes)]


def all_errors(errors: Errors, is_text):
    """The blocks of `--errors`."""
    if errors.cases:
        keys = dict(zip(errors.peaks_of, string.ascii_uppercase))
        rows = [[key, file, keys[errors.peaks_of[file]]] for file, key in keys.items()]
        yield Table(["", "run", "its peaks alone are from"], rows)
        for kind, cases in ((PEAKS, errors.cases), (OWN, errors.own_run)):
            yield f"with machine files from {kind}:"
            yield pairs(cases, keys)
        yield from totals("all pairs", errors)
        yield from EXPLAINED
    else:
        yield OPEN
    for line in errors.left_out:
        yield f"left out: {line}"


def pairs(cases, keys):
    rows = []
    for (here, there), found in by_pair(cases).items():
        one = worst(found)
        last = f"{100 * one.error:+.0f} % {named(one.name)}"
        rows.append([keys[here], keys[there], *counts(found), last])
    return Table(["from", "to", *PAIR, "worst of all steps"], rows, PAIR)


def notes(run, here, there, reasons):
    """Lines about the run, the machines, and steps without a prediction, which have `reasons`."""
    if run.left_out:
        yield (
            f"{plural(run.left_out, 'step')} on a GPU, on other kernels than LibTorch's or with ranks: left out"
        )
    for why, count in Counter(reasons).items():
        yield f"{plural(count, 'step')} left out: {why}"
    if words := recounted.sentence([run.context], [step.name for step in run.steps]):
        yield words
    for machine in (here, there):
        if machine.note:
            yield f"{machine.name}: {machine.note}"
    for field in OPTIONAL_RATES:
        lacking = [one.name for one in (here, there) if not getattr(one, field)]
        if lacking:
            yield f"no {field} of {listed(lacking)}: not used (docs/predict.md)"
