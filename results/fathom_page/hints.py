"""The command that measures what a page lacks: only the workloads of its files, and into another file than these."""

import pathlib
import re
import shlex

from fathom_runs.source import unpacked

# Filters of rows.
TRAIN, STEPS, OPS = "^({})/train/", "^({})/(train|infer)/", "^op/[^/]+/({})/"


def command(workloads, files, rows, *options):
    """`rows` are filters of rows, `files` the files of the page."""
    names = "|".join(one for one in dict.fromkeys(workloads) if re.fullmatch(r"[\w-]+", one))
    found = (
        shlex.quote("|".join(one.format(names) for one in rows)) if names else "'/(train|infer)/'"
    )
    words = [*options, f"--benchmark_filter={found}", f"--benchmark_out={other_file(files)}"]
    return f"./fathom_bench {' '.join(words)}"


def other_file(files):
    """A name like that of the first file, which none of the files has."""
    names = [unpacked(pathlib.Path(file)).name for file in files]
    stem = re.sub(r"[^\w.-]+", "-", pathlib.Path(names[0]).stem) if names else "run"
    wishes = (f"{stem}-more{number}.json" for number in ["", *range(2, len(names) + 3)])
    return next(wish for wish in wishes if wish not in names)
