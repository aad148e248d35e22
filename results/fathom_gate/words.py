"""Sentences that the terminal and Markdown share."""

import numpy as np

from fathom_gate import rates
from fathom_gate.shift import percent
from fathom_gate.verdict import NO_VERDICT, Class
from fathom_runs.names import short
from fathom_runs.program import command
from fathom_runs.words import listed, one_line, plural, time_words

AB = command("ab")
ADVISED = 9  # repetitions
MANY = 5  # rows, of which the median says something about the machine
KINDS = {"step": "step", "other": "row", "inside": "op type inside steps", "op": "op"}
KINDS_OF_MANY = {"step": "steps", "other": "rows"}
KINDS_OF_MANY |= {"inside": "op types inside steps", "op": "ops"}


def named(name):
    return one_line(short(name))


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
    doubt = "" if cause.changed else f"; {doubt_of(cause)}"
    return (
        f"{cause.op_type} explains {100 * cause.share:.0f} % of {time_words(abs(step_change))}: "
        f"{time_words(cause.base_us)} -> {time_words(cause.new_us)}{change}{doubt}"
    )


def doubt_of(cause):
    """Why the change of a row that explains its step may still be noise."""
    width = percent(cause.half_width)
    if width == float("inf"):
        return "too few repetitions to tell it from noise"
    return f"its own row is uncertain by {width:.0f} %"


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


def notes_of_rounds(verdicts, more):
    """Yields reasons to be careful with files of results/ab. `more` is the number of rounds that a row needs."""
    fewest = min((min(row.repetitions) for row in verdicts.rows), default=ADVISED)
    if fewest < ADVISED:
        yield (
            f"rows with only {plural(fewest, 'repetition')}, {ADVISED} advised (--rounds={ADVISED}): with fewer, only "
            "large changes are detected"
        )
    if verdicts.undecided:
        known = sorted(
            (more[row.name], named(row.name)) for row in verdicts.undecided if more[row.name]
        )
        parts = [f"about {count} more rounds would decide {name}" for count, name in known]
        few = len(verdicts.undecided) - len(known)
        parts += [f"{plural(few, 'row')} with too few rounds"] * bool(few)
        yield f"{plural(len(verdicts.undecided), 'row')} AMBIGUOUS: {listed(parts, 3)}"


def notes_of_runs(verdicts, rule, noises):
    """Yields reasons to be careful with other files. `noises` are those between runs, by kind of row."""
    measured = {kind: noise for kind, noise in noises.items() if noise.degrees}
    for kind, noise in measured.items():
        yield (
            f"noise: equal runs of {KINDS_OF_MANY[kind]} differ by "
            f"{percent(noise.deviation):.2g} % (standard deviation over {plural(noise.rows, 'row')})"
        )
    if not measured:
        yield (
            "noise: not measured between processes, so these two runs cannot be judged: where processes differ by "
            f"1 %, repetitions alone call a row SLOWER in {share_words(rates.alone()['false_pct'])} of comparisons of "
            f"{rates.known()['rows']} equal rows; give other runs of the base (--noise=again.json) or use {AB}"
        )
    elif verdicts.undecided:
        yield (
            f"{plural(len(verdicts.undecided), 'row')} AMBIGUOUS: more runs of the base (--noise) or {AB} can "
            "decide"
        )
    yield from moved(verdicts, rule)


def moved(verdicts, rule):
    """A sentence if most rows moved together."""
    effects = [row.shift.effect for row in verdicts.primary]
    if len(effects) >= MANY and abs(middle := float(np.median(effects))) > rule.smallest:
        yield (
            f"the median row changed by {signed(percent(middle))}: a machine that has changed looks the same; "
            f"{AB} tells them apart"
        )


def error_rates(found):
    """Yields what verdicts like this one get wrong. `found` is of rates.py."""
    if found is None:
        return
    worst, usual = found.by_noise[found.worst_noise], found.usual
    yield (
        f"error rate: of {found.suites:,} made-up comparisons of {found.rows} equal rows by {found.judged}, "
        f"{share_words(usual['false_pct'])} had a false SLOWER if processes differ by 1 %, "
        f"{share_words(worst['false_pct'])} under the worst of {len(found.by_noise)} noises (docs/gate.md)"
    )
    here = found.found_90_pct
    yield (
        f"power: one row that is 5 % slower was found in {share_words(usual['found_pct'])} of them"
        + (
            f"; with the noise of the median row here, 90 % would find {signed(here)}"
            if here
            else ""
        )
    )


def share_words(value):
    return f"{value:.{0 if value >= 9.95 else 1}f} %"


def missing(verdicts):
    """Yields lines about rows that failed or that only one run has."""
    for name, why in verdicts.vanished.items():
        yield f"VANISHED  {named(name)}{': ' + why if why else ''}"
    for name, why in verdicts.failed.items():
        known = "; in the base, too" if name in verdicts.failed_before else ""
        yield f"FAILED    {named(name)}: {why}{known}"
    if verdicts.added:
        yield f"new: {listed(map(named, verdicts.added), 3)}"


def waivers(verdicts):
    """Yields a line about each slower row that has a waiver."""
    for row in verdicts.rows:
        if row.is_slower and row.waiver:
            change_words, ceiling = f"{named(row.name)}: {change(row)}", signed(row.waiver.ceiling)
            if row.is_waived:
                until, reason = row.waiver.until, one_line(row.waiver.reason)
                yield f"WAIVED    {change_words}, up to {ceiling} until {until}: {reason}"
            else:
                yield f"FAILS     {change_words}, above the ceiling of its waiver, {ceiling}"


def summary(verdicts):
    found = [(verdicts.failing, "slower"), (verdicts.vanished, "vanished")]
    found.append((verdicts.newly_failed, "failed"))
    parts = [f"{plural(len(rows), 'row')} {what}" for rows, what in found if rows]
    if parts:
        return f"regression: {', '.join(parts)}"
    undecided = f"{len(verdicts.undecided)} of {plural(len(verdicts.primary), 'row')} undecided"
    if verdicts.exit_code == NO_VERDICT:
        return f"no verdict: {undecided}"
    waived = f"{plural(len(verdicts.waived), 'row')} waived" if verdicts.waived else ""
    return "; ".join(
        filter(None, ["no regression", waived, undecided if verdicts.undecided else ""])
    )
