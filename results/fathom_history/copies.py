"""Leaves out runs that are in a folder several times: copies would look like a level of their own."""

from fathom_runs.words import listed, plural

NAMED = 3  # copies that are named


def without_copies(runs):
    """The runs that count, and one line about the others, if there are any.

    A copy made while a run went on holds a part of its rows, so the file with the most rows counts.
    """
    kept, copies = {}, []  # by date
    for run in sorted(runs, key=lambda run: -len(run.rows)):
        same_date = kept.setdefault(run.date, [])
        same = next((one for one in same_date if is_copy(run, one)), None)
        if same:
            copies.append(f"{run.file} (of {same.file})")
        else:
            same_date.append(run)
    counted = [run for run in runs if any(run is one for one in kept[run.date])]
    count = plural(len(copies), "file is a copy of a run", "files are copies of runs")
    line = f"{count} and not counted: {listed(sorted(copies), NAMED)}"
    return counted, [line] if copies else []


def is_copy(run, other):
    """Whether all that a run holds is in the other one, too."""
    context = all(other.context.get(key, value) == value for key, value in run.context.items())
    return context and all(other.rows.get(name) == row for name, row in run.rows.items())
