"""Reads the runs of a folder."""

from fathom_history.run import read
from fathom_runs.source import RunError

# Suffixes of files that fathom_bench writes beside a run.
BESIDE = (".errors.jsonl", ".explain.json", ".kernels.json", ".samples.jsonl")


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
        if path.resolve() == page.resolve():
            raise RunError(f"{path}: is an input and the output, expected another -o")
        found.append(run)
    if not found:
        why = f"none of its {len(refused)} files is a run ({refused[0]})" if refused else "is empty"
        raise RunError(f"{folder}: {why}, expected a folder with files of --benchmark_out")
    return sorted(found, key=lambda run: (run.date, run.file)), refused


def files(folder):
    """Yields the files by path, without hidden ones and without files beside a run."""
    try:
        list(folder.iterdir())
    except OSError as error:
        raise RunError(f"{folder}: {error.strerror}, expected a folder of runs") from error
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    known = set(paths)
    for path in paths:
        beside = [end for end in BESIDE if path.name.endswith(end)]
        is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if is_hidden or any(path.with_name(path.name.removesuffix(end)) in known for end in beside):
            continue
        yield path
