"""Reads the runs of a folder."""

from fathom_history.run import read
from fathom_runs.beside import is_beside
from fathom_runs.output import expect_distinct
from fathom_runs.source import RunError, unpacked
from fathom_runs.words import plural


def runs(folder, page):
    """Returns the runs by date, and one line for each file that is not a run. The page itself is skipped."""
    found, refused = [], []
    for path in files(folder):
        try:
            run = read(path, path.relative_to(folder).as_posix())
        except RunError as error:
            if path.resolve() != page.resolve():
                refused.append(str(error))
            continue
        expect_distinct(page, [path])
        found.append(run)
    if not found:
        count = plural(len(refused), "file")
        why = f"no run among its {count} ({refused[0]})" if refused else "is empty"
        raise RunError(f"{folder}: {why}, expected a folder with files of --benchmark_out")
    return sorted(found, key=lambda run: (run.date, run.file)), refused


def files(folder):
    """Yields the files by path, without hidden ones, files beside a run, and gzip files beside their content."""
    try:
        list(folder.iterdir())
    except OSError as error:
        raise RunError(f"{folder}: {error.strerror}, expected a folder of runs") from error
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    known = set(paths)
    for path in paths:
        is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        is_copy = path != unpacked(path) and unpacked(path) in known
        if not (is_hidden or is_copy or is_beside(path)):
            yield path
