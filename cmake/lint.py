#!/usr/bin/env python3
"""cmake/lint.py BUILD [SINCE]: runs clang-tidy on our sources in a configured tree, except unchanged clean ones.

With SINCE, a file that holds a commit, only on what differs from this commit: changed sources, and one source for each
changed header that it includes. All sources where git does not know the commit, or where clang-tidy's options differ.

BUILD is of the preset lint, which has no precompiled headers, so a missing #include is an error. The cache
key of a source is a hash of clang-tidy's options, the pinned versions, the compile command, and the repository's
files that the source includes. Keys of clean sources are stored in
~/.cache/fathom_bench/lint, which all clones of the repository share.
"""

import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEPENDENCIES = pathlib.Path(os.environ.get("FATHOM_DEPS_DIR", ROOT / ".deps")).resolve()
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser()
CLEAN_MARKS = CACHE / "fathom_bench/lint"
OF_TESTS = ("dashboards", "pytorch", "results")  # Python packages, which no source includes
PINS = sorted(  # versions of clang-tidy and of the libraries
    path for path in ROOT.glob("cmake/wheels/*.txt") if not path.stem.endswith(OF_TESTS)
)
KEPT_DAYS = 60  # after the last use


def say(text):
    print(f"fathom_bench: {text}", file=sys.stderr, flush=True)


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def without_paths(text):
    """Replaces the paths of this clone, so that keys are equal in all clones."""
    return text.replace(str(DEPENDENCIES), "<deps>").replace(str(ROOT), "<root>")


@functools.cache
def text_of(path):
    return path.read_text(errors="surrogateescape")


@functools.cache
def includes(path):
    """The files of the repository that a file includes; not those that CMake generates."""
    names = re.findall(r'^#include "(.+)"', text_of(path), re.MULTILINE)
    return {ROOT / name for name in names if (ROOT / name).exists()}


@functools.cache
def files_read(source):
    """A source and all headers of the repository that it includes, also in headers."""
    found = set()
    left = {source}
    while left:
        found |= left
        left = set().union(*map(includes, left)) - found
    return found


def commands_of(build):
    """The compile commands of our sources."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        if source.suffix == ".cc" and source.is_relative_to(ROOT) and build not in source.parents:
            commands.setdefault(source, []).append(entry["command"])
    return commands


def key(source, commands, tool):
    """The cache key of a source."""
    parts = [tool, *map(without_paths, commands)]
    for file in sorted(files_read(source)):
        parts += [without_paths(str(file)), text_of(file)]
    return hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()


def changed_files(since):
    """The files that differ from a commit; None where git does not know it."""
    result = subprocess.run(
        ["git", "-C", ROOT, "diff", "--name-only", "-z", since.read_text().strip()],
        capture_output=True,
        text=True,
    )
    return (
        None if result.returncode else {ROOT / name for name in result.stdout.split("\0") if name}
    )


def differing_sources(sources, since):
    """The sources to check for what differs from a commit."""
    changed = changed_files(since)
    if changed is None or changed & {ROOT / ".clang-tidy", *PINS}:
        return sources
    chosen = changed & sources
    covered = set()
    for source in [*sorted(chosen), *sorted(sources - chosen)]:
        headers = files_read(source) & changed
        if source in chosen or headers - covered:
            chosen.add(source)
            covered |= headers
    return chosen


def main():
    folder, *since = map(pathlib.Path, sys.argv[1:])
    (tidy,) = DEPENDENCIES.glob("lint/lib/python3*/site-packages/clang_tidy/data/bin/clang-tidy")
    commands = commands_of(folder.resolve())
    openmp = output("g++", "-print-file-name=include").strip()  # omp.h, after clang's own headers
    options = [f"--extra-arg=-idirafter{openmp}"]
    tool = "\n".join([*options, *map(text_of, [ROOT / ".clang-tidy", *PINS])])
    CLEAN_MARKS.mkdir(parents=True, exist_ok=True)
    for clean_mark in CLEAN_MARKS.iterdir():
        if time.time() - clean_mark.stat().st_mtime > KEPT_DAYS * 86400:
            clean_mark.unlink()

    unchecked = {}
    sources = differing_sources(commands.keys(), *since) if since else commands
    for source in sorted(sources):
        clean_mark = CLEAN_MARKS / key(source, commands[source], tool)
        if clean_mark.exists():
            clean_mark.touch()
        else:
            unchecked[source] = clean_mark
    unchanged = len(sources) - len(unchecked)
    say(
        f"lint: {len(sources)} of {len(commands)} files, {unchanged} are unchanged, {len(unchecked)} to check"
    )

    def check(source):
        begin = time.monotonic()
        command = [tidy, "--quiet", *options, "-p", folder, source]
        result = subprocess.run(command, capture_output=True, text=True)
        return source, result, time.monotonic() - begin

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        checks = [pool.submit(check, source) for source in unchecked]
        for number, done in enumerate(concurrent.futures.as_completed(checks), 1):
            source, result, seconds = done.result()
            clean = result.returncode == 0
            say(f"lint: [{number}/{len(unchecked)}] {source.relative_to(ROOT)}, {seconds:.0f} s")
            if not clean:
                failed += 1
                print(result.stdout + result.stderr, flush=True)
            else:
                unchecked[source].touch()
    if failed:
        say(f"lint: {failed} files have findings")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
