"""Files that are written as a whole or not at all."""

import os
import tempfile

from fathom_runs.source import RunError


def expect_apart(path, read=()):
    """Refuses to write over what is read, or a folder."""
    for file in read:
        if file.resolve() == path.resolve():
            raise RunError(f"{file}: is read and would be written, expected another -o")
    if path.is_dir():
        raise RunError(f"{path}: is a folder, expected a file to write")


def replace(path, text):
    """Writes the whole file or leaves the earlier one."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}, expected a folder to write to") from error
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def make_folder(path):
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}, expected a folder to write to") from error
