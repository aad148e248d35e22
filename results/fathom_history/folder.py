"""Which files of a folder are runs."""

from fathom_history.run import read
from fathom_runs.source import RunError

# What fathom_bench leaves beside a run.
BESIDE = (".errors.jsonl", ".explain.json", ".samples.jsonl")


def runs(folder, page):
    """The runs in the order of their dates, and a line for each file that is none. The page itself is neither."""
    found, refused = [], []
    for path in files(folder):
        try:
            run = read(path, path.relative_to(folder).as_posix())
        except RunError as error:
            if path.resolve() != page.resolve():
                refused.append(str(error))
            continue
        if path.resolve() == page.resolve():
            raise RunError(f"{path}: is read and would be written, expected another -o")
        found.append(run)
    if not found:
        why = f"none of its {len(refused)} files is a run ({refused[0]})" if refused else "is empty"
        raise RunError(f"{folder}: {why}, expected a folder of files of --benchmark_out")
    return sorted(found, key=lambda run: (run.date, run.file)), refused


def files(folder):
    """All but hidden ones and those beside a run, in the order of their paths."""
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
