#!/usr/bin/env python3
"""cmake/lint.py BUILD: clang-tidy over our sources of a built tree, except those that it has found clean before.

It compiles without the precompiled headers, so a missing #include is an error here. A verdict rests on clang-tidy's version and options, the compile command, and the text of the source and of all that the
compiler read with it, which Ninja remembers. Clean ones are kept in ~/.cache/fathom_bench/lint, where other clones of the
repository find them.
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
VERDICTS = CACHE / "fathom_bench/lint"
KEPT_DAYS = 60  # without being asked for


def say(text):
    print(f"fathom_bench: {text}", file=sys.stderr, flush=True)


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def anywhere(text):
    """The same in each clone."""
    return text.replace(str(DEPENDENCIES), "<deps>").replace(str(ROOT), "<root>")


@functools.cache
def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Tree:
    """A tree that Ninja has built."""

    def __init__(self, folder):
        self.folder = folder
        self.commands = {}  # by source
        for entry in json.loads((folder / "compile_commands.json").read_text()):
            source = pathlib.Path(entry["file"])
            if (
                source.suffix == ".cc"
                and source.is_relative_to(ROOT)
                and folder not in source.parents
            ):
                self.commands.setdefault(source, []).append(entry["command"])
        self.read = {}  # what the compiler read, by object
        target = None
        for line in output("ninja", "-C", folder, "-t", "deps").splitlines():
            if line.startswith(" "):
                self.read[target].append(line.strip())
            elif line:
                target = line.partition(":")[0]
                self.read[target] = []

    def without_precompiled_headers(self):
        """Writes the compile commands without them; gives the folder."""
        folder = self.folder / "lint"
        folder.mkdir(exist_ok=True)
        commands = [
            {
                "directory": str(self.folder),
                "file": str(source),
                "command": re.sub(r" -Winvalid-pch| -include \S+", "", command),
            }
            for source, commands in self.commands.items()
            for command in commands
        ]
        (folder / "compile_commands.json").write_text(json.dumps(commands))
        return folder

    def texts(self, command):
        """What a command reads, its precompiled header's parts too; nothing where Ninja does not know."""
        words = command.split()
        made = {words[i + 1] for i, word in enumerate(words) if word == "-o"}
        made |= {f"{words[i + 1]}.gch" for i, word in enumerate(words) if word == "-include"}
        targets = {os.path.relpath(self.folder / name, self.folder) for name in made}
        if not targets <= self.read.keys():
            return []
        return {self.folder / name for target in targets for name in self.read[target]}

    def key(self, source, tool):
        """Names the verdict on a source, if its texts are known."""
        parts = [tool]
        for command in self.commands[source]:
            texts = self.texts(command)
            if not texts:
                return None
            parts.append(anywhere(command))
            parts += sorted(f"{anywhere(str(text))} {digest(text)}" for text in texts)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def main():
    (folder,) = map(pathlib.Path, sys.argv[1:])
    (tidy,) = DEPENDENCIES.glob("lint/lib/python3*/site-packages/clang_tidy/data/bin/clang-tidy")
    tree = Tree(folder.resolve())
    openmp = output("g++", "-print-file-name=include").strip()  # omp.h, after clang's own headers
    options = [f"--extra-arg=-idirafter{openmp}"]
    tool = "\n".join([output(tidy, "--version"), (ROOT / ".clang-tidy").read_text(), *options])
    VERDICTS.mkdir(parents=True, exist_ok=True)
    for verdict in VERDICTS.iterdir():
        if time.time() - verdict.stat().st_mtime > KEPT_DAYS * 86400:
            verdict.unlink()

    left = {}
    for source in sorted(tree.commands):
        verdict = VERDICTS / (tree.key(source, tool) or "unknown")
        if verdict.exists():
            verdict.touch()
        else:
            left[source] = verdict
    say(
        f"lint: {len(tree.commands) - len(left)} files are known to be clean, {len(left)} to look at"
    )

    def check(source):
        begin = time.monotonic()
        command = [tidy, "--quiet", *options, "-p", database, source]
        result = subprocess.run(command, capture_output=True, text=True)
        return source, result, time.monotonic() - begin

    database = tree.without_precompiled_headers()
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        checks = [pool.submit(check, source) for source in left]
        for number, done in enumerate(concurrent.futures.as_completed(checks), 1):
            source, result, seconds = done.result()
            clean = result.returncode == 0
            say(f"lint: [{number}/{len(left)}] {source.relative_to(ROOT)}, {seconds:.0f} s")
            if not clean:
                failed += 1
                print(result.stdout + result.stderr, flush=True)
            elif left[source].name != "unknown":
                left[source].touch()
    if failed:
        say(f"lint: {failed} files are not clean")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
