"""Writes files atomically."""

import errno
import gzip
import os
import pathlib
import re
import sys
import tempfile

from fathom_runs.beside import SUFFIXES, beside
from fathom_runs.source import RunError, is_gzip

# Errors of a new file in a folder, or of its renaming, where the file itself may be writable: the folder takes no files,
# or the file is mounted alone.
OF_FOLDER = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV}


def expect_distinct(path, read=(), option="-o"):
    """Raises RunError if the output is a folder, an input file in `read`, or a file beside one of them."""
    for file in read:
        if file.resolve() == path.resolve():
            raise RunError(f"{file}: is an input and the output, expected another {option}")
        if os.path.isfile(file) and path.resolve() in [
            beside(file, one).resolve() for one in SUFFIXES
        ]:
            raise RunError(f"{path}: belongs to {file}, expected another {option}")
    if os.path.isdir(path):
        raise RunError(f"{path}: is a folder, expected a file")


def replace(path, content):
    """Replaces the file by a text or bytes, atomically; with `.gz` at its end, by a gzip file.

    On an error, the earlier file stays. A link keeps pointing at its file, which is replaced. A pipe, a device or a
    descriptor of this process cannot be replaced; the content is written to it. Raises RunError.
    """
    # A file name that is not UTF-8 may be part of a text.
    data = content.encode(errors="replace") if isinstance(content, str) else content
    if is_gzip(path):
        data = gzip.compress(data, mtime=0)  # without the time, the same text gives the same bytes
    try:
        descriptor = named_descriptor(path)
        if descriptor is not None:
            with os.fdopen(os.dup(descriptor), "wb") as file:
                file.write(data)
        elif path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            replace_file(pathlib.Path(os.path.realpath(path)), data)
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}, expected a file in a writable folder") from error


def named_descriptor(path):
    """The descriptor of this process that a path such as /dev/stdout or /dev/fd/3 names, or None."""
    names = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
    found = re.fullmatch(r"/(?:dev|proc/self)/fd/(\d+)", str(path))
    return int(found[1]) if found else names.get(str(path))


def message_stream(*outputs):
    """Where a program prints its lines: stderr if one of its outputs, which may be None, is stdout."""
    for path in filter(None, outputs):
        try:
            if os.path.samestat(os.stat(path), os.fstat(sys.stdout.fileno())):
                return sys.stderr
        except OSError:
            continue
    return sys.stdout


def replace_file(path, data):
    try:
        rename_over(path, data)
    except OSError as error:
        if error.errno not in OF_FOLDER or not path.exists():
            raise
        overwrite(path, data)


def overwrite(path, data):
    """Writes a file in place. Reserves the space first, so that a full disk leaves the earlier content."""
    with open(path, "r+b") as file:
        size = os.fstat(file.fileno()).st_size
        try:
            if len(data) > size:
                os.posix_fallocate(file.fileno(), 0, len(data))
        except OSError:
            file.truncate(size)
            raise
        file.write(data)
        file.truncate()


def rename_over(path, data):
    """Replaces a file by another one of its folder, which has a short name: that of the file may be as long as allowed."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
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
