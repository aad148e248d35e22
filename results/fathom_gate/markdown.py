"""Writes the result as Markdown, for a comment on a pull request or the summary of a job."""

from fathom_gate import words
from fathom_gate.verdict import Class
from fathom_runs.names import short


def text(comparison):
    """The summary, a table of changed rows, their causes, missing rows, counts and notes."""
    verdicts = comparison.verdicts
    lines = [f"**{words.summary(verdicts)}**", ""]
    changed = verdicts.of(Class.SLOWER) + verdicts.of(Class.FASTER)
    if changed:
        lines += [
            "| | row | base | new | change (95 % interval) | q |",
            "|---|---|--:|--:|--:|--:|",
        ]
    for row in changed:
        base, new = words.times(row).split(" -> ")
        cells = (row.row_class.value, f"`{short(row.name)}`", base, new, words.change(row))
        lines.append(f"| {' | '.join(cells)} | {row.q:.2g} |")
    lines += [""] if changed else []
    for row in changed:
        for cause in comparison.causes.get(row.name, []):
            lines.append(f"- `{short(row.name)}`: {words.cause_words(row, cause)}")
    lines += [f"- {line}" for line in words.missing(verdicts)]
    lines += [f"- {line}" for line in words.counts(verdicts)]
    lines += [f"- {run.path.name}: {run.words}" for run in (comparison.base, comparison.new)]
    lines += [f"- note: {one}" for one in comparison.notes]
    return "\n".join(lines) + "\n"
