"""Reads the runs of a folder."""

import gzip
import zlib
from dataclasses import dataclass

from fathom_history.copies import without_copies
from fathom_history.run import Run, read
from fathom_runs.beside import is_beside
from fathom_runs.output import expect_distinct
from fathom_runs.source import GZIP_START, RunError, shown, unpacked
from fathom_runs.words import listed, plural

START = 512  # bytes of a file that show whether it may be JSON
NAMED = 3  # files that are named in a line about many


@dataclass(frozen=True)
class Folder:
    runs: list[Run]  # by date
    refused: list[str]  # one line for each file of JSON that is no run
    notes: list[str]  # a line about copies of runs, and one about files that cannot be JSON


def contents(folder, page):
    """Reads all files but the page itself. A run that is in several files counts once."""
    runs, refused, foreign = [], [], []
    for path in files(folder):
        name = shown(path.relative_to(folder).as_posix())
        is_page = path.resolve() == page.resolve()
        if not may_be_json(path):
            foreign += [name] * (not is_page)
            continue
        try:
            run = read(path, name)
        except RunError as error:
            refused += [str(error)] * (not is_page)
            continue
        expect_distinct(page, [path])
        runs.append(run)
    if not runs:
        raise RunError(
            f"{folder}: {without_runs(refused, foreign)}, expected a folder with files of --benchmark_out"
        )
    runs, notes = without_copies(sorted(runs, key=lambda run: (run.date, run.file)))
    if foreign:
        notes.append(f"{plural(len(foreign), 'file')} without JSON: {listed(foreign, NAMED)}")
    return Folder(runs, refused, notes)


def without_runs(refused, foreign):
    """What a folder without runs holds."""
    count = plural(len(refused) + len(foreign), "file")
    first = [*refused, *(f"{name} is not JSON" for name in foreign)][:1]
    return f"no run among its {count} ({first[0]})" if first else "is empty"


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
        is_packed_copy = path != unpacked(path) and unpacked(path) in known
        if not (is_hidden or is_packed_copy or is_beside(path)):
            yield path


def may_be_json(path):
    """Whether the name or the first character says so: a run may have any name."""
    if unpacked(path).suffix == ".json":
        return True
    try:
        with open(path, "rb") as file:
            is_packed = file.peek(2).startswith(GZIP_START)
            start = (gzip.open(file) if is_packed else file).read(START)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return False
    except OSError:
        return True  # the reader says why
    return start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")
