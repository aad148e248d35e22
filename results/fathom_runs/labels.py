"""Short names of files."""

import pathlib

from fathom_runs.source import unpacked


def file_labels(paths):
    """Names of the files by path, without folder and extension if they are still distinct."""
    files = {path: unpacked(pathlib.Path(path)) for path in paths}
    stems = [file.stem for file in files.values()]
    return {
        path: file.stem if stems.count(file.stem) == 1 else str(file.with_suffix(""))
        for path, file in files.items()
    }
