"""What a comparison found, in lines that the terminal and Markdown share."""

from fathom_gate.shift import percent
from fathom_gate.verdict import Class
from fathom_runs.names import short
from fathom_runs.words import listed, plural, time_words

ADVISED = 9  # repetitions
KINDS = {"step": "step", "other": "row", "inside": "op type inside steps", "op": "op alone"}
KINDS_OF_MANY = {"step": "steps", "other": "rows"}
KINDS_OF_MANY |= {"inside": "op types inside steps", "op": "ops alone"}


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
    step_more = step.new_us - step.base_us
    grown = f", {signed(100 * cause.more_us / cause.base_us)}" if cause.base_us else ""
    doubt = "" if cause.moved else "; its own row is within noise"
    return (
        f"{cause.op_type} explains {100 * cause.share:.0f} % of {time_words(abs(step_more))}: "
        f"{time_words(cause.base_us)} -> {time_words(cause.new_us)}{grown}{doubt}"
    )


def counts(judged):
    """`16 steps: 1 SLOWER, 15 SAME` of each kind."""
    for kind in KINDS:
        rows = [row for row in judged.rows if row.kind == kind]
        if rows:
            found = {one: sum(row.judged is one for row in rows) for one in Class}
            parts = ", ".join(f"{count} {one.value}" for one, count in found.items() if count)
            yield f"{plural(len(rows), KINDS[kind], KINDS_OF_MANY[kind])}: {parts}"
    if judged.unseen:
        yield (
            f"{plural(len(judged.unseen), 'row')} of ops not looked at, since their steps did not "
            "move"
        )


def notes(judged, noise, settings):
    """What a reader should know before believing the verdict."""
    yield from settings
    fewest = min((min(row.repetitions) for row in judged.rows), default=0)
    if fewest < ADVISED:
        yield (
            f"{plural(fewest, 'repetition')} at the least, {ADVISED} advised "
            f"(--benchmark_repetitions={ADVISED}): with fewer, only large changes can be told"
        )
    unclear = sum(row.first and row.judged is Class.AMBIGUOUS for row in judged.rows)
    if unclear:
        yield (
            f"{plural(unclear, 'row')} AMBIGUOUS: more repetitions would tell, as results/ab "
            "--most-rounds=N adds them where they are needed"
        )
    if noise.rows:
        yield (
            f"noise: a change counts from {noise.factor:.1f} times the half of its interval on, by what "
            f"{plural(noise.rows, 'row')} differed by between runs of one program"
        )
    elif not noise.measured:
        yield (
            "noise: no run of the base's program again (--noise=again.json), so that what differs "
            "between processes may pass for a change"
        )


def missing(judged):
    """Lines on rows that only one run has."""
    for name, why in judged.vanished.items():
        yield f"VANISHED  {short(name)}{': ' + why if why else ''}"
    for name, why in judged.failed.items():
        yield f"FAILED    {short(name)}: {why}"
    if judged.new:
        yield f"new: {listed([short(name) for name in judged.new], 3)}"


def verdict(judged):
    found = [(judged.slower, "slower"), (judged.vanished, "vanished")]
    parts = [f"{plural(len(rows), 'row')} {what}" for rows, what in found if rows]
    return f"regression: {', '.join(parts)}" if parts else "no regression"
