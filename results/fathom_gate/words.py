"""Sentences that the terminal and Markdown share."""

from fathom_gate.shift import percent
from fathom_gate.verdict import Class
from fathom_runs.names import short
from fathom_runs.words import listed, plural, time_words

ADVISED = 9  # repetitions
KINDS = {"step": "step", "other": "row", "inside": "op type inside steps", "op": "op"}
KINDS_OF_MANY = {"step": "steps", "other": "rows"}
KINDS_OF_MANY |= {"inside": "op types inside steps", "op": "ops"}


def signed(value):
    return f"{value:+.1f} %"


def change(row):
    """`+10.3 % (+9.1 to +11.4)`"""
    low, high = percent(row.shift.low), percent(row.shift.high)
    interval = f" ({low:+.1f} to {high:+.1f})" if low > -100 and high < float("inf") else ""
    return signed(row.percent) + interval


def times(row):
    return f"{time_words(row.base_us)} -> {time_words(row.new_us)}"


def cause_words(step, cause):
    """`conv2d explains 94 % of 1.15 s: 6.9 s -> 7.98 s, +15.7 %`"""
    step_change = step.new_us - step.base_us
    change = f", {signed(100 * cause.change_us / cause.base_us)}" if cause.base_us else ""
    doubt = "" if cause.changed else "; within the noise of its own row"
    return (
        f"{cause.op_type} explains {100 * cause.share:.0f} % of {time_words(abs(step_change))}: "
        f"{time_words(cause.base_us)} -> {time_words(cause.new_us)}{change}{doubt}"
    )


def counts(verdicts):
    """Yields `16 steps: 1 SLOWER, 15 SAME` for each kind of row."""
    for kind in KINDS:
        rows = [row for row in verdicts.rows if row.kind == kind]
        if rows:
            found = {one: sum(row.row_class is one for row in rows) for one in Class}
            parts = ", ".join(f"{count} {one.value}" for one, count in found.items() if count)
            yield f"{plural(len(rows), KINDS[kind], KINDS_OF_MANY[kind])}: {parts}"
    if verdicts.untested:
        rows = plural(len(verdicts.untested), "row")
        yield f"{rows} of ops not tested, because their steps did not change"


def advised(block):
    """The option for enough repetitions, of results/ab if the runs are compared in blocks of its rounds."""
    return f"{'--rounds' if block else '--benchmark_repetitions'}={ADVISED}"


def notes(verdicts, noise, settings, block=None):
    """Yields reasons to be careful with the result."""
    yield from settings
    fewest = min((min(row.repetitions) for row in verdicts.rows), default=ADVISED)
    if fewest < ADVISED:
        yield (
            f"rows with only {plural(fewest, 'repetition')}, {ADVISED} advised "
            f"({advised(block)}): with fewer, only large changes are detected"
        )
    unclear = sum(row.is_primary and row.row_class is Class.AMBIGUOUS for row in verdicts.rows)
    if unclear:
        yield (
            f"{plural(unclear, 'row')} AMBIGUOUS: more repetitions can decide; "
            "results/ab --most-rounds=N adds them where needed"
        )
    if noise.rows:
        yield (
            f"noise: a change must exceed {noise.factor:.1f} times the half width of its interval, "
            f"measured on {plural(noise.rows, 'row')} between runs of one program"
        )
    elif not noise.measured:
        yield (
            "noise: not measured between processes (--noise=again.json, another run of the base's "
            "program), so a difference between processes can look like a change"
        )


def missing(verdicts):
    """Yields lines about rows that failed or that only one run has."""
    for name, why in verdicts.vanished.items():
        yield f"VANISHED  {short(name)}{': ' + why if why else ''}"
    for name, why in verdicts.failed.items():
        known = "; in the base, too" if name in verdicts.failed_before else ""
        yield f"FAILED    {short(name)}: {why}{known}"
    if verdicts.added:
        yield f"new: {listed([short(name) for name in verdicts.added], 3)}"


def summary(verdicts):
    found = [(verdicts.failing, "slower"), (verdicts.vanished, "vanished")]
    found.append((verdicts.newly_failed, "failed"))
    parts = [f"{plural(len(rows), 'row')} {what}" for rows, what in found if rows]
    return f"regression: {', '.join(parts)}" if parts else "no regression"
