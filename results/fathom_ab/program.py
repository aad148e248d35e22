"""One of the two programs: lists its rows and runs one row."""

import json
import pathlib
import re
import subprocess
import tempfile
from dataclasses import dataclass, field

from fathom_runs.context import peaks
from fathom_runs.entries import checked, is_measured, reason_of
from fathom_runs.failures import errors_of, failures
from fathom_runs.source import RunError, document, is_number, text_of


NO_CHECK = "--fathom_machine_check=off"


def temporary_folder():
    return tempfile.TemporaryDirectory(prefix="fathom_ab.")


class TooLong(RunError):
    """A run took longer than --limit-seconds."""

    def __init__(self, path, what, seconds):
        self.reason = f"took longer than the {seconds} s of --limit-seconds"
        super().__init__(f"{path}: {what} {self.reason}")


@dataclass
class Program:
    path: pathlib.Path
    arguments: list[str]
    limit_seconds: int  # per run
    context: dict = field(default_factory=dict)  # of its first run, plus the peaks of all runs
    # Added from the second run on, without those that the user gave.
    later_options: list[str] = field(default_factory=list)
    folder: tempfile.TemporaryDirectory = field(default_factory=temporary_folder)

    def rows(self):
        """Names of the rows, in the order of the program. Raises RunError."""
        listed = self.start("--benchmark_list_tests")
        if listed.returncode:
            raise RunError(
                f"{self.path}: --benchmark_list_tests: exit code {listed.returncode} "
                f"({last_line(listed.stderr)}), expected the names of its benchmarks"
            )
        return listed.stdout.split("\n")[:-1]

    def measure(self, name):
        """Runs the row once. Returns its entries and None, or an empty list and the reason."""
        out = self.file("row.json")
        for file in (out, errors_of(out)):
            file.unlink(missing_ok=True)
        try:
            ended = self.start(f"--benchmark_filter=^{escaped(name)}$", f"--benchmark_out={out}")
        except TooLong as error:
            return [], error.reason
        context, entries, unreadable = {}, [], ""
        if out.exists() and out.stat().st_size:
            try:
                context, entries = document(out, text_of(out))
            except RunError as error:  # a crash has a reason of its own, the exit code
                unreadable = "" if ended.returncode else str(error)
        # A round is one repetition: of a program that repeats a row by itself, the last one counts.
        measured = {
            entry["run_name"]: entry
            for entry in entries
            if is_measured(entry) and entry.get("run_type") != "aggregate"
        }
        try:
            measured = [with_numbers(checked(out, entry)) for entry in measured.values()]
        except RunError as error:
            measured, unreadable = [], str(error)
        if measured:
            self.remember(context)
            return measured, None
        reasons = [*failures(out).values(), *map(reason_of, entries), unreadable]
        reasons.append(f"exit code {ended.returncode}: {last_line(ended.stderr)}")
        return [], next(filter(None, reasons))

    def remember(self, context):
        """Keeps the context. Later runs skip the machine check and reuse the measured peaks."""
        is_first = not self.context
        found = peaks(context)
        new_peaks = found.keys() - self.context.keys()
        self.context = found | (self.context or context)
        if is_first:
            is_fathom = option_name(NO_CHECK) in self.start("--help").stdout
            self.later_options = [NO_CHECK] if is_fathom else []
        if self.later_options and found and (is_first or new_peaks):
            file = self.file("peaks.json")
            file.write_text(json.dumps({"context": self.context}), encoding="utf-8")
            self.later_options = [NO_CHECK, f"--fathom_peaks={file}"]

    def file(self, name):
        return pathlib.Path(self.folder.name, name)

    def start(self, *arguments):
        given = set(map(option_name, self.arguments))
        added = [option for option in self.later_options if option_name(option) not in given]
        try:
            return subprocess.run(
                [self.path.absolute(), *self.arguments, *added, *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self.limit_seconds,
            )
        except subprocess.TimeoutExpired as error:
            raise TooLong(self.path, arguments[0], self.limit_seconds) from error
        except OSError as error:
            raise RunError(
                f"{self.path}: {error.strerror}, expected a program that uses Google Benchmark"
            ) from error


def with_numbers(entry):
    """The entry without counters that are NaN or infinite: the files of results/ab are strict JSON."""
    return {
        key: value for key, value in entry.items() if type(value) is not float or is_number(value)
    }


def option_name(option):
    return option.partition("=")[0]


def escaped(name):
    """Escapes the text for a POSIX extended regular expression."""
    return re.sub(r"([][.*+?^${}()|\\])", r"\\\1", name)


def last_line(text):
    return (text.strip().splitlines() or ["no message"])[-1]
