"""A change in words: which row, how much, since when, which op types, and what else changed there."""

from fathom_runs.words import listed, percent, plural, time_words

LEAST_P = 1e-12  # smaller ones are shown as this
LONG = 60  # characters of a setting
MOST = 3  # settings that are named with one change


def change(one, machine, series, marks, found):
    """What the row's name goes before; `found` are its op types (causes.causes)."""
    runs = machine.runs
    more = "longer" if one.percent > 0 else "less time"
    words = [
        f"takes {percent(abs(one.percent))} {more} since {runs[one.run].minute}: "
        f"{time_words(one.old_us)} became {time_words(one.new_us)} "
        f"({counted(one)}, {probability(one.p)}), {commits(one, runs)}."
    ]
    if one.kind == "step":
        words.append(op_types(found))
    words += [label(one, series), other_changes(one, marks)]
    return " ".join(filter(None, words))


def counted(one):
    old, new = len(one.old), len(one.new)
    if new == 1:  # none but the last run: others that stand out alone are set aside
        return f"mean of {plural(old, 'run')} against the last one alone"
    return f"means of {old} and {plural(new, 'run')}"


def probability(p):
    return f"p below {LEAST_P:.0e}" if p < LEAST_P else f"p = {p:.1g}"


def commits(one, runs):
    old, new = runs[one.old[-1]].commit, runs[one.run].commit
    return f"both of commit {new}" if old == new else f"{old}..{new}"


def op_types(found):
    if found is None:
        return "Its op types are not known on both sides (--fathom_profile)."
    if not found:
        return "No op type explains 5 % of it."
    parts = []
    for cause in found:
        verb = " explains" if not parts else ""
        times = f"{time_words(cause.old_us)} to {time_words(cause.new_us)}"
        doubt = "" if cause.is_certain else ", within its own noise"
        parts.append(f"{cause.op_type}{verb} {100 * cause.share:.0f} % of it ({times}{doubt})")
    return listed(parts) + "."


def label(one, series):
    """What a library chose to run, where that changed."""
    old, new = series.labels[one.old[-1]], series.labels[one.run]
    return f"Its label changed from {old or 'none'} to {new or 'none'}." if old != new else ""


def other_changes(one, marks):
    """Of the machine and its libraries, at the same run or next to it: noise may hide a change for a run."""
    same = [mark for mark in marks if one.old[-1] < mark.run <= one.run]
    if same:
        return f"Between these runs {changed(same)}: the cause may be there, not in the code."
    for place, words in ((one.run + 1, "later"), (one.old[-1], "earlier")):
        beside = [mark for mark in marks if mark.run == place]
        if beside:
            return f"One run {words} {changed(beside)}."
    return ""


def changed(marks):
    fields = [
        f"{one.field} changed from {cut(one.old)} to {cut(one.new)} ({mark.letter})"
        for mark in marks
        for one in mark.differences
    ]
    return listed(fields, most=MOST)


def cut(text):
    return text if len(text) <= LONG else text[: LONG - 1] + "…"
