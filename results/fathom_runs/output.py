"""Writes files atomically."""

import gzip
import os
import pathlib
import tempfile

from fathom_runs.beside import SUFFIXES, beside
from fathom_runs.source import RunError, is_gzip


def expect_distinct(path, read=(), option="-o"):
    """Raises RunError if the output is a folder, an input file in `read`, or a file beside one of them."""
    for file in read:
        if file.resolve() == path.resolve():
            raise RunError(f"{file}: is an input and the output, expected another {option}")
        if file.is_file() and path.resolve() in [beside(file, one).resolve() for one in SUFFIXES]:
            raise RunError(f"{path}: belongs to {file}, expected another {option}")
    if path.is_dir():
        raise RunError(f"{path}: is a folder, expected a file")


def replace(path, content):
    """Replaces the file by a text or bytes, atomically; with `.gz` at its end, by a gzip file.

    On an error, the earlier file stays. A link keeps pointing at its file, which is replaced. A pipe or a device cannot
    be replaced; the content is written to it. Raises RunError.
    """
    data = content.encode() if isinstance(content, str) else content
    if is_gzip(path):
        data = gzip.compress(data, mtime=0)  # without the time, the same text gives the same bytes
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            replace_file(pathlib.Path(os.path.realpath(path)), data)
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}, expected a file in a writable folder") from error


def replace_file(path, data):
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def make_folder(path):
    """Creates the folder and its parents. Raises RunError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}, expected a writable folder") from error
