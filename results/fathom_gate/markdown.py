"""Writes the result as Markdown, for a comment on a pull request or the summary of a job."""

from fathom_gate import words
from fathom_gate.verdict import Class
from fathom_runs.markdown import code, plain, table
from fathom_runs.names import short


HEADS = ("", "row", "base", "new", "change (95 % interval)", "q")


def text(comparison):
    """The summary, a table of changed rows, causes, missing rows, waivers, counts and notes."""
    verdicts = comparison.verdicts
    lines = [f"**{words.summary(verdicts)}**", ""]
    changed = verdicts.of(Class.SLOWER) + verdicts.of(Class.FASTER)
    rows = [
        (
            row.row_class.value,
            code(short(row.name)),
            *words.times(row).split(" -> "),
            words.change(row),
            f"{row.q:.2g}",
        )
        for row in changed
    ]
    lines += [table(HEADS, rows, HEADS[2:])] if changed else []
    for row in changed:
        for cause in comparison.causes.get(row.name, []):
            lines.append(f"- {code(short(row.name))}: {plain(words.cause_words(row, cause))}")
    for line in (*words.missing(verdicts), *words.waivers(verdicts)):
        lines.append(f"- {plain(line)}")
    lines += [f"- {line}" for line in words.counts(verdicts)]
    lines += [f"- {line}" for line in words.error_rates(comparison.rates)]
    runs = (comparison.base, comparison.new)
    lines += [f"- {plain(run.path.name)}: {plain(run.words)}" for run in runs]
    lines += [f"- note: {plain(one)}" for one in comparison.notes]
    return "\n".join(lines) + "\n"
