"""Describes a change of a row's time or of a step's profile: how much, since which run, which op types.

Changes of the context at the same run are mentioned.
"""

from fathom_history.run import UNKNOWN
from fathom_runs.words import listed, percent, plural, time_words

MIN_P = 1e-12  # smaller values are shown as "below"
MAX_LENGTH = 60  # characters of a setting
MAX_SETTINGS = 3  # settings named in one sentence


def change(one, machine, series, marks, found, profiles=()):
    """The sentences that follow the name of the row. `found` are its causes (causes.causes).

    `profiles` are changes of the profile at the same run.
    """
    runs = machine.runs
    more = "longer" if one.percent > 0 else "less time"
    words = [
        f"has taken {percent(abs(one.percent))} {more} since {runs[one.run].minute}: "
        f"{time_words(one.new_us)} instead of {time_words(one.old_us)} "
        f"({counted(one)}, {probability(one.p)}), {commits(one, runs)}."
    ]
    if one.kind == "step":
        words.append(op_types(found))
    words += [f"Its profile changed, too ({distance(one)}): {shares(one)}." for one in profiles]
    words += [label(one, series), *doubts(one, runs), other_changes(one, marks)]
    return " ".join(filter(None, words))


def doubts(one, runs):
    """Yields sentences about other explanations of a change."""
    if len(one.new) == 1:
        yield "One run cannot tell a change from an outlier: the next one decides."
    if one.is_drift:
        yield "A steady drift fits these runs as well."
    if one.back_to is not None:
        yield f"The row had this time before, until {runs[one.back_to].minute}."


def profile(one, machine, marks):
    """The sentences about a change of the profile without a change of the time."""
    runs = machine.runs
    words = (
        f"has had another profile since {runs[one.run].minute}: {shares(one)} ({distance(one)}, "
        f"{counted(one)}, {probability(one.p)}), {commits(one, runs)}. "
        "No change of its time was found at this run."
    )
    return " ".join(filter(None, (words, other_changes(one, marks))))


def shares(one):
    """The op types whose shares changed most: `conv2d takes 66.1 % of the step instead of 60 %`."""
    first, *others = one.shifts
    parts = [f"{first.op_type} takes {first.new:.3g} % of the step instead of {first.old:.3g} %"]
    parts += [f"{one.op_type} {one.new:.3g} % instead of {one.old:.3g} %" for one in others]
    return listed(parts)


def distance(one):
    return f"cosine distance {one.distance:.2g}, between runs of one level {one.noise:.2g}"


def counted(one):
    old, new = len(one.old), len(one.new)
    if new == 1:  # the newest run; any other single run would be an outlier
        return f"mean of {plural(old, 'run')} against the newest run"
    return f"means of {old} and {plural(new, 'run')}"


def probability(p):
    return f"p below {MIN_P:.0e}" if p < MIN_P else f"p = {p:.1g}"


def commits(one, runs):
    old, new = runs[one.old[-1]].commit, runs[one.run].commit
    if old == new:
        return "of unknown commits" if old == UNKNOWN else f"both of commit {new}"
    return f"{old}..{new}"


def op_types(found):
    if found is None:
        return "Its op types were not measured before and after the change (--fathom_profile)."
    if not found:
        return "No op type explains 5 % of it."
    parts = []
    for cause in found:
        verb = " explains" if not parts else ""
        times = f"{time_words(cause.old_us)} to {time_words(cause.new_us)}"
        doubt = "" if cause.is_certain else ", within its noise"
        parts.append(f"{cause.op_type}{verb} {100 * cause.share:.0f} % of it ({times}{doubt})")
    return listed(parts) + "."


def label(one, series):
    """A sentence if the label changed: the kernel that a library chose."""
    old, new = series.labels[one.old[-1]], series.labels[one.run]
    words = [shortened(text) if text else "none" for text in (old, new)]
    return f"Its label changed from {words[0]} to {words[1]}." if old != new else ""


def other_changes(one, marks):
    """A sentence about changes of the context at this run, or one run apart: noise can shift a change point."""
    same = [mark for mark in marks if one.old[-1] < mark.run <= one.run]
    if same:
        return f"Between these runs {changed(same)}, which may be the cause."
    for place, words in ((one.run + 1, "later"), (one.old[-1], "earlier")):
        beside = [mark for mark in marks if mark.run == place]
        if beside:
            return f"One run {words} {changed(beside)}."
    return ""


def changed(marks):
    fields = [
        f"{one.field} changed from {shortened(one.old)} to {shortened(one.new)} ({mark.letter})"
        for mark in marks
        for one in mark.differences
    ]
    return listed(fields, most=MAX_SETTINGS)


def shortened(text):
    text = " ".join(str(text).split())
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 1] + "…"
