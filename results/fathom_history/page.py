"""The page: one section a machine, what changed first, in one file that needs nothing else."""

import pathlib
import string
from html import escape

from fathom_history import cards, changes, latest, names, tables
from fathom_report import parts
from fathom_runs.words import plural

HERE = pathlib.Path(__file__).parent
REFUSED = 5  # files whose fault is told


def page(analyses, refused, smallest):
    """The page's text; `refused` are lines on files that are no runs."""
    # Links of a page of one machine stay short, and the same in every page of it.
    keys = [f"-machine{number}" if number > 1 else "" for number in range(1, len(analyses) + 1)]
    heading = analyses[0].machine.title if len(analyses) == 1 else f"{len(analyses)} machines"
    return parts.page(
        "history",
        heading,
        things="runs",
        styles=[HERE / "history.css"],
        scripts=[HERE / "history.js"],
        facts=escape(facts(analyses)),
        notes=parts.notes(no_runs(refused)),
        about=about(smallest),
        contents="\n".join(map(contents, analyses, keys)),
        main="\n".join(
            machine(one, key, smallest, len(analyses) > 1) for one, key in zip(analyses, keys)
        ),
    )


def about(smallest):
    """How changes are found."""
    return string.Template(parts.text_of(HERE / "about.html")).substitute(
        smallest=f"{smallest:g}",
        max_p=f"{changes.MAX_P['step']:g}",
        max_p_of_many=f"{changes.MAX_P_OF_MANY:g}",
    )


def no_runs(refused):
    yield from (f"No run: {line}" for line in refused[:REFUSED])
    if refused[REFUSED:]:
        yield f"No runs, either: {plural(len(refused) - REFUSED, 'more file')}."


def facts(analyses):
    """How much there is, in one line."""
    runs = [run for one in analyses for run in one.machine.runs]
    told = sum(len(one.told) for one in analyses)
    first, last = (choice(runs, key=lambda run: run.date) for choice in (min, max))
    days = first.day if first.day == last.day else f"{first.day} to {last.day}"
    counts = (plural(len(runs), "run"), days, *rows(analyses), plural(told, "change"))
    return " · ".join(counts)


def rows(analyses):
    """How many there are of each kind."""
    kinds = {"step": ("step",), "op": ("op alone", "ops alone"), "other": ("other row",)}
    for kind, words in kinds.items():
        names = {series.name for one in analyses for series in one.of_kind(kind)}
        if names:
            yield plural(len(names), *words)


def machine(one, key, smallest, is_named):
    sections = [
        latest.section(one, key, smallest),
        latest.table(one, key),
        tables.of_marks(one, key),
        cards.section(one, key),
        tables.of_rows(
            one, key, "op", "Ops alone", "The newest run against the median of those before."
        ),
        tables.of_rows(
            one, key, "other", "Other rows", "The newest run against the median of those before."
        ),
        tables.of_runs(one, key),
    ]
    heading = f'<h2 class="machine">{escape(one.machine.title)}</h2>' if is_named else ""
    return heading + "\n".join(filter(None, sections))


def contents(one, key):
    """Links to a machine's sections and trends."""
    kinds = {"op": "Ops alone", "other": "Other rows"}
    links = [(f"latest{key}", "What changed")]
    links += [(f"changes{key}", "All changes")] if one.told else []
    links += [(f"context{key}", "Machine and libraries")] if one.marks else []
    links += [(f"{kind}{key}", title) for kind, title in kinds.items() if one.of_kind(kind)]
    links.append((f"runs{key}", "Runs"))
    steps = [series.name for series in one.of_kind("step")]
    rows = [(names.anchor(row, key), names.brief(row, steps), one.told_of(row)) for row in steps]
    html = f"<h2>{escape(one.machine.title)}</h2><ul>{''.join(link(*pair) for pair in links)}</ul>"
    if rows:
        html += f"<h2><a href=\"#trends{key}\">Trends</a></h2><ul class=\"rows\">{''.join(link(*row) for row in rows)}</ul>"
    return html


def link(key, title, told=()):
    signs = "".join("▲" if one.change.percent > 0 else "▼" for one in told)
    mark = f' <span class="signs">{signs}</span>' if signs else ""
    return f'<li><a href="#{escape(key)}">{escape(title)}{mark}</a></li>'
