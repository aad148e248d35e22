#!/usr/bin/env python3
"""cmake/lint.py BUILD [SINCE]: runs clang-tidy on our sources in a built tree, except unchanged clean ones.

With SINCE, a file that holds a commit, only on what differs from this commit: changed sources, and one source for each
changed header that it includes. All sources where git does not know the commit, or where clang-tidy's options differ.

clang-tidy compiles without the precompiled headers, so a missing #include is an error. The cache
key of a source is a hash of clang-tidy's version and options, the compile command, and the contents
of all files that the compiler read, which Ninja records. Keys of clean sources are stored in
~/.cache/fathom_bench/lint, which all clones of the repository share.
"""

import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEPENDENCIES = pathlib.Path(os.environ.get("FATHOM_DEPS_DIR", ROOT / ".deps")).resolve()
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser()
CLEAN_MARKS = CACHE / "fathom_bench/lint"
KEPT_DAYS = 60  # after the last use


def say(text):
    print(f"fathom_bench: {text}", file=sys.stderr, flush=True)


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def without_paths(text):
    """Replaces the paths of this clone, so that keys are equal in all clones."""
    return text.replace(str(DEPENDENCIES), "<deps>").replace(str(ROOT), "<root>")


def without_precompiled_header(words):
    """The words of a compile command, without those that name a precompiled header."""
    left = iter(words)
    return [
        word for word in left if word != "-Winvalid-pch" and (word != "-include" or not next(left))
    ]


@functools.cache
def digest(path):
    text = path.read_text(errors="surrogateescape")
    return hashlib.sha256(without_paths(text).encode(errors="surrogateescape")).hexdigest()


class Tree:
    """A build tree of Ninja."""

    def __init__(self, folder):
        self.folder = folder
        self.commands = {}  # source -> compile commands
        for entry in json.loads((folder / "compile_commands.json").read_text()):
            source = pathlib.Path(entry["file"])
            if (
                source.suffix == ".cc"
                and source.is_relative_to(ROOT)
                and folder not in source.parents
            ):
                self.commands.setdefault(source, []).append(entry["command"])
        self.read = {}  # object -> files that the compiler read
        target = None
        for line in output("ninja", "-C", folder, "-t", "deps").splitlines():
            if line.startswith(" "):
                self.read[target].append(line.strip())
            elif line:
                target = line.partition(":")[0]
                self.read[target] = []

    def without_precompiled_headers(self):
        """Writes compile commands without precompiled headers and returns their folder."""
        folder = self.folder / "lint"
        folder.mkdir(exist_ok=True)
        commands = [
            {
                "directory": str(self.folder),
                "file": str(source),
                "command": shlex.join(without_precompiled_header(shlex.split(command))),
            }
            for source, commands in self.commands.items()
            for command in commands
        ]
        (folder / "compile_commands.json").write_text(json.dumps(commands))
        return folder

    def files_read(self, command):
        """The files that a command reads, with its precompiled header's; empty if unknown."""
        words = shlex.split(command)
        outputs = {words[i + 1] for i, word in enumerate(words) if word == "-o"}
        outputs |= {f"{words[i + 1]}.gch" for i, word in enumerate(words) if word == "-include"}
        targets = {os.path.relpath(self.folder / name, self.folder) for name in outputs}
        if not targets <= self.read.keys():
            return []
        return {self.folder / name for target in targets for name in self.read[target]}

    def key(self, source, tool):
        """The cache key of a source, or None if the files that it reads are unknown."""
        parts = [tool]
        for command in self.commands[source]:
            files = self.files_read(command)
            if not files:
                return None
            parts.append(without_paths(command))
            parts += sorted(f"{without_paths(str(file))} {digest(file)}" for file in files)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


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


def differing_sources(tree, since):
    """The sources to check for what differs from a commit."""
    changed = changed_files(since)
    pins = {ROOT / ".clang-tidy", ROOT / "cmake/wheels/wheels-lint.txt"}
    if changed is None or changed & pins:
        return set(tree.commands)
    chosen = changed & tree.commands.keys()
    covered = set()
    for source in [*sorted(chosen), *sorted(tree.commands.keys() - chosen)]:
        read = {file for command in tree.commands[source] for file in tree.files_read(command)}
        headers = {pathlib.Path(os.path.normpath(file)) for file in read} & changed
        if source in chosen or headers - covered:
            chosen.add(source)
            covered |= headers
    return chosen


def main():
    folder, *since = map(pathlib.Path, sys.argv[1:])
    (tidy,) = DEPENDENCIES.glob("lint/lib/python3*/site-packages/clang_tidy/data/bin/clang-tidy")
    tree = Tree(folder.resolve())
    openmp = output("g++", "-print-file-name=include").strip()  # omp.h, after clang's own headers
    options = [f"--extra-arg=-idirafter{openmp}"]
    tool = "\n".join([output(tidy, "--version"), (ROOT / ".clang-tidy").read_text(), *options])
    CLEAN_MARKS.mkdir(parents=True, exist_ok=True)
    for clean_mark in CLEAN_MARKS.iterdir():
        if time.time() - clean_mark.stat().st_mtime > KEPT_DAYS * 86400:
            clean_mark.unlink()

    unchecked = {}
    sources = differing_sources(tree, *since) if since else tree.commands
    for source in sorted(sources):
        clean_mark = CLEAN_MARKS / (tree.key(source, tool) or "unknown")
        if clean_mark.exists():
            clean_mark.touch()
        else:
            unchecked[source] = clean_mark
    unchanged = len(sources) - len(unchecked)
    say(
        f"lint: {len(sources)} of {len(tree.commands)} files, {unchanged} are unchanged, {len(unchecked)} to check"
    )

    def check(source):
        begin = time.monotonic()
        command = [tidy, "--quiet", *options, "-p", database, source]
        result = subprocess.run(command, capture_output=True, text=True)
        return source, result, time.monotonic() - begin

    database = tree.without_precompiled_headers()
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
            elif unchecked[source].name != "unknown":
                unchecked[source].touch()
    if failed:
        say(f"lint: {failed} files have findings")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
