"""One of the two programs: what rows it has, and one run of one row."""

import json
import pathlib
import re
import subprocess
import tempfile
from dataclasses import dataclass, field

from fathom_runs.context import peaks
from fathom_runs.entries import is_measured
from fathom_runs.failures import errors_of, failures
from fathom_runs.source import RunError, document, text_of


def temporary_folder():
    return tempfile.TemporaryDirectory(prefix="fathom_ab.")


class TooLong(RunError):
    """A run did not end in time."""

    def __init__(self, path, what, seconds):
        self.reason = f"took longer than the {seconds} s of --limit-seconds"
        super().__init__(f"{path}: {what} {self.reason}")


@dataclass
class Program:
    path: pathlib.Path
    arguments: list[str]
    limit_seconds: int  # for a run
    context: dict = field(default_factory=dict)  # of its first run, with the peaks of all
    spared: list[str] = field(default_factory=list)  # options for its later runs
    folder: tempfile.TemporaryDirectory = field(default_factory=temporary_folder)

    def rows(self):
        """Names in the program's order. Throws RunError."""
        listed = self.start("--benchmark_list_tests")
        if listed.returncode:
            raise RunError(
                f"{self.path}: --benchmark_list_tests ended with {listed.returncode} "
                f"({last_line(listed.stderr)}), expected the names of its benchmarks"
            )
        return listed.stdout.split("\n")[:-1]

    def measure(self, name):
        """The entries of one run of the row, and why there are none."""
        out = self.file("row.json")
        for file in (out, errors_of(out)):
            file.unlink(missing_ok=True)
        try:
            ended = self.start(f"--benchmark_filter=^{escaped(name)}$", f"--benchmark_out={out}")
        except TooLong as error:
            return [], error.reason
        context, entries = {}, []
        if out.exists() and out.stat().st_size:
            context, entries = document(out, text_of(out))
        entries = [entry for entry in entries if is_measured(entry)]
        if entries:
            self.remember(context)
            return entries, None
        for reason in failures(out).values():
            return [], reason
        return [], f"ended with {ended.returncode}: {last_line(ended.stderr)}"

    def remember(self, context):
        """What a run of fathom_bench says of the machine and its peaks spares later ones a look."""
        first = not self.context
        found = peaks(context)
        news = found.keys() - self.context.keys()
        self.context = found | (self.context or context)
        if first and "--fathom_peaks" in self.start("--help").stdout:
            self.spared = ["--fathom_unchecked"]
        if self.spared and found and (first or news):
            file = self.file("peaks.json")
            file.write_text(json.dumps({"context": self.context}), encoding="utf-8")
            self.spared = [self.spared[0], f"--fathom_peaks={file}"]

    def file(self, name):
        return pathlib.Path(self.folder.name, name)

    def start(self, *arguments):
        try:
            return subprocess.run(
                [self.path.absolute(), *self.arguments, *self.spared, *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=self.limit_seconds,
            )
        except subprocess.TimeoutExpired as error:
            raise TooLong(self.path, arguments[0], self.limit_seconds) from error
        except OSError as error:
            raise RunError(
                f"{self.path}: {error.strerror}, expected a program on Google Benchmark"
            ) from error


def escaped(name):
    """For a POSIX extended regular expression."""
    return re.sub(r"([][.*+?^${}()|\\])", r"\\\1", name)


def last_line(text):
    return (text.strip().splitlines() or ["it said nothing"])[-1]
