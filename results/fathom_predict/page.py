"""The content of both outputs: a prediction with its errors, and the errors of all pairs."""

from collections import Counter

from fathom_predict.errors import Errors, median_size, nine_of_ten, worst
from fathom_predict.machine import OPTIONAL_RATES
from fathom_predict.parts import PARTS
from fathom_predict.tables import Table
from fathom_runs import recounted
from fathom_runs.names import short
from fathom_runs.words import factor, listed, percent, plural, time_words

SHARES = tuple(f"{part}, %" for part in PARTS)
TIMES = ("here", "predicted", "ratio", *SHARES)
COUNTS = ("steps", "median", "big steps", "their median", "nine of ten within", "worst")
OPEN = "errors of such predictions: open, until two machines are recorded, in two folders, with the same steps"


def prediction(found):
    """The blocks of a Found."""
    rows = [
        [
            named(one.step.name),
            time_words(one.step.us),
            time_words(one.us),
            factor(one.us / one.step.us),
            *(f"{one.shares[part]:.0f}" for part in PARTS),
            one.bound,
            one.source,
        ]
        for one in found.predictions
    ]
    yield f"from {found.run_path}: {found.here.name}"
    yield f"to {found.there_name}: {found.there.name}"
    for line in found.notes:
        yield f"note: {line}"
    yield Table(["step", *TIMES, "bound by", "split by"], rows, TIMES)
    yield from error_lines(found.errors)


def named(name):
    """The name of a step without what all predicted steps have in common."""
    return short(name).replace("/device:cpu", "").replace("/backend:torch", "")


def error_lines(errors: Errors):
    """How good such predictions are, in sentences."""
    if not errors.cases:
        yield OPEN
        return
    without = f", without {listed(errors.without)}" if errors.without else ""
    yield (
        f"errors of such predictions{without}: {measured(errors.cases)}, over {plural(len(errors.pairs), 'pair')} of "
        "recorded runs"
    )
    for words, cases in groups(errors.cases)[1:]:
        yield f"errors of such predictions with {words}: {measured(cases)}"


def measured(cases):
    """`median 9 % of 80 steps; of 52 steps above 100 ms median 7 %, nine of ten within 18 %, worst 23 %`"""
    all_of_them, big = sizes(cases), sizes([case for case in cases if case.is_big])
    text = f"median {all_of_them[1]} of {plural(len(cases), 'step')}"
    if big[1]:
        number, median, within, worst_of_all = big
        steps = plural(int(number), "step")
        text += f"; of {steps} above 100 ms median {median}, nine of ten within {within}, worst {worst_of_all}"
    return text


def sizes(cases):
    """Number, median, size of nine of ten, and worst error, in words. Empty without cases."""
    if not cases:
        return ["0", "", "", ""]
    signed = max(cases, key=lambda case: case.size).error
    values = (median_size(cases), nine_of_ten(cases), signed)
    return [str(len(cases)), *(percent(100 * value) for value in values)]


def groups(cases):
    """All cases; if there are several thread counts, those of each. With a name."""
    counts = sorted({case.threads for case in cases})
    by_threads = [
        (f"threads:{count}", [case for case in cases if case.threads == count]) for count in counts
    ]
    return [("all steps", cases), *(by_threads if len(counts) > 1 else ())]


def all_errors(errors: Errors):
    """The blocks of `--errors`."""
    if errors.cases:
        rows = [
            [*pair, *cells(cases), named(worst(cases).name) if worst(cases) else ""]
            for pair, cases in errors.pairs.items()
        ]
        yield Table(["from", "to", *COUNTS, "the worst"], rows, COUNTS)
        rows = [[words, *cells(cases)] for words, cases in groups(errors.cases)]
        yield Table(["over all pairs", *COUNTS], rows, COUNTS)
    else:
        yield OPEN
    for line in errors.left_out:
        yield f"left out: {line}"


def cells(cases):
    """The columns COUNTS."""
    return [*sizes(cases)[:2], *sizes([case for case in cases if case.is_big])]


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
