"""The verdict as Markdown, for a pull request's comment or a job's summary."""

from fathom_gate import words
from fathom_gate.verdict import Class
from fathom_runs.names import short


def text(comparison):
    """The verdict, a table of rows that moved, what is missing, and counts."""
    judged = comparison.judged
    lines = [f"**{words.verdict(judged)}**", ""]
    moved = judged.of(Class.SLOWER) + judged.of(Class.FASTER)
    if moved:
        lines += [
            "| | row | base | new | change (95 % interval) | q |",
            "|---|---|--:|--:|--:|--:|",
        ]
    for row in moved:
        base, new = words.times(row).split(" -> ")
        cells = (row.judged.value, f"`{short(row.name)}`", base, new, words.change(row))
        lines.append(f"| {' | '.join(cells)} | {row.q:.2g} |")
    lines += [""] if moved else []
    for row in moved:
        for cause in comparison.causes.get(row.name, []):
            lines.append(f"- `{short(row.name)}`: {words.cause_words(row, cause)}")
    lines += [f"- {line}" for line in words.missing(judged)]
    lines += [f"- {line}" for line in words.counts(judged)]
    lines += [f"- {run.path.name}: {run.words}" for run in (comparison.base, comparison.new)]
    lines += [f"- note: {one}" for one in comparison.notes]
    return "\n".join(lines) + "\n"
