"""Writes the result as text for a terminal or a log."""

from fathom_gate import words
from fathom_gate.verdict import Class

COLOURS = {Class.SLOWER: "31", Class.FASTER: "32", Class.AMBIGUOUS: "33", Class.SAME: "0"}
SHOWN = (Class.SLOWER, Class.FASTER, Class.AMBIGUOUS, Class.SAME)


def text(comparison, everything=False, colours=False):
    """The files, notes, changed rows (or all) with causes, waivers, counts and the summary."""
    base, new, verdicts = comparison.base, comparison.new, comparison.verdicts
    lines = [f"{base.path}: {base.words}", f"{new.path}: {new.words}"]
    lines += [f"note: {one}" for one in comparison.notes]
    lines.append("")
    for one in SHOWN:
        for row in verdicts.of(one):
            if row.changed or everything:
                lines += of_row(row, comparison, colours)
    lines += words.missing(verdicts)
    lines += words.waivers(verdicts)
    lines += words.counts(verdicts)
    lines += words.error_rates(comparison.rates)
    lines.append(words.summary(verdicts))
    return "\n".join(lines) + "\n"


def of_row(row, comparison, colours):
    label = f"{row.row_class.value:<9}"
    if colours:
        label = f"\033[{COLOURS[row.row_class]}m{label}\033[0m"
    more = comparison.more_rounds.get(row.name)
    open_words = f", about {more} more rounds would decide" if more else ""
    yield f"{label} {words.named(row.name)}  {words.times(row)}, {words.change(row)}, q {row.q:.2g}{open_words}"
    for cause in comparison.causes.get(row.name, []):
        yield f"{'':9}   {words.cause_words(row, cause)}"
