"""Runs test cases in other programs: GoogleTest programs, and pytest in other environments."""

import contextlib
import dataclasses
import functools
import json
import os
import re
import select
import signal
import subprocess
import tempfile

from program import ROOT

TESTS = ROOT / "tests"
ENVIRONMENT = dict(os.environ)  # of the session: tests change variables while batches start


@dataclasses.dataclass
class Result:
    outcome: str  # passed, failed or skipped
    text: str = ""  # why it failed or was skipped
    seconds: float = 0.0


class Process:
    """A program whose output is read line by line."""

    def __init__(self, command, variables=(), **options):
        self.popen = subprocess.Popen(
            list(map(str, command)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=ENVIRONMENT | dict(variables),
            **options,
        )
        self.silent = False

    def lines(self, seconds):
        """Yields the lines of output. Kills the program after `seconds` without output."""
        partial = b""
        while select.select([self.popen.stdout], [], [], seconds)[0]:
            read = os.read(self.popen.stdout.fileno(), 1 << 16)
            *lines, partial = (partial + read).split(b"\n") if read else (partial, b"")
            yield from (line.decode(errors="replace") for line in lines)
            if not read:
                return
        self.silent = True
        self.kill()

    def kill(self):
        """Kills the program and the processes that it started."""
        with contextlib.suppress(ProcessLookupError):
            if self.popen.poll() is None:
                os.killpg(self.popen.pid, signal.SIGKILL)

    def how_it_ended(self):
        """Waits for the program and describes its end."""
        code = self.popen.wait()
        if self.silent:
            return "printed nothing for too long"
        if code < 0:
            return f"was killed by signal {-code} ({signal.strsignal(-code)})"
        return f"ended with exit code {code}"


class GoogleTest:
    """A GoogleTest program. One process runs all cases. After a crash, a new one runs the rest."""

    LIMIT_SECONDS = 600  # for a case, without output
    BEGIN = re.compile(r"\[ RUN      \] (\S+)$")
    END = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] ([^\s,]+)(?:, where .*)? \((\d+) ms\)$")
    OUTCOMES = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}

    def __init__(self, program):
        self.program = program
        self.process = None

    def __str__(self):
        return str(self.program)

    @functools.cached_property
    def cases(self):
        """A dict from case names to pairs of file (relative to tests/) and line."""
        with tempfile.NamedTemporaryFile() as listed:
            options = ["--gtest_list_tests", f"--gtest_output=json:{listed.name}"]
            subprocess.run([self.program, *options], check=True, stdout=subprocess.DEVNULL)
            suites = json.load(listed)["testsuites"]
        return {
            f"{suite['name']}.{case['name']}": (case["file"].rpartition("tests/")[2], case["line"])
            for suite in suites
            for case in suite["testsuite"]
        }

    def run(self, names):
        """Yields each case's name and result."""
        remaining = set(names)
        while remaining:
            before = len(remaining)
            for name, result in self.run_process(remaining):
                remaining.remove(name)
                yield name, result
            if len(remaining) == before:
                text = f"{self} ran no case and {self.process.how_it_ended()}"
                yield from ((name, Result("failed", text)) for name in remaining)
                return

    def run_process(self, names):
        """Yields the results of one process. If it ends abnormally, its last case fails."""
        name, result, output, failed = None, None, [], False
        with tempfile.NamedTemporaryFile("w") as flags:
            # A flag file, because all names may exceed the length limit of a command line.
            flags.write(f"--gtest_color=no\n--gtest_filter={':'.join(names)}")
            flags.flush()
            self.process = Process([self.program, f"--gtest_flagfile={flags.name}"])
            for line in self.process.lines(self.LIMIT_SECONDS):
                if begin := self.BEGIN.search(line):
                    if result:
                        yield name, result
                    name, result, output = begin[1], None, []
                elif (end := self.END.search(line)) and end[2] == name:
                    output.append(line[: end.start()])
                    result = Result(self.OUTCOMES[end[1]], seconds=int(end[3]) / 1000)
                    result.text = "\n".join(output).strip()
                    if result.outcome == "skipped":
                        result.text = re.sub(r"^.*: Skipped\n", "", result.text)
                    elif result.outcome == "failed":
                        failed = True
                    output = []
                else:
                    output.append(line)
        if name and not (
            result and self.process.how_it_ended() == f"ended with exit code {int(failed)}"
        ):
            before = f"{result.text}\nAfter" if result else "In"
            text = f"{before} this case the program {self.process.how_it_ended()}"
            result = Result("failed", "\n".join([text, *output]))
        if name:
            yield name, result


class OtherPython:
    """Test files for another Python. Its pytest runs them and reports by `Results`."""

    LIMIT_SECONDS = 600  # without output
    VARIABLES = {"FATHOM_TEST_BATCH": "1"}

    def __init__(self, python, files):
        self.command = [python, *"-s -m pytest -o addopts= -q -p no:cacheprovider".split()]
        self.files = [TESTS / file for file in files]
        self.process = None

    def __str__(self):
        return str(self.command[0])

    @functools.cached_property
    def cases(self):
        """A dict from case names to pairs of file (relative to tests/) and None, for no line."""
        listed = subprocess.run(
            [*self.command, "--collect-only", *self.files],
            cwd=ROOT,
            env=ENVIRONMENT | self.VARIABLES,
            capture_output=True,
            text=True,
        )
        names = re.findall(r"^tests/.*::.*$", listed.stdout, re.MULTILINE)
        if listed.returncode != 0 or not names:
            raise RuntimeError(listed.stdout + listed.stderr)
        return {name: (name.partition("::")[0].removeprefix("tests/"), None) for name in names}

    def run(self, names):
        """Yields each case's name and result."""
        remaining = set(names)
        with tempfile.NamedTemporaryFile("r") as results:
            variables = self.VARIABLES | {"FATHOM_TEST_RESULTS": results.name}
            self.process = Process([*self.command, *names], variables, cwd=ROOT)
            output = "\n".join(self.process.lines(self.LIMIT_SECONDS))
            for line in results:
                name, *result = json.loads(line)
                remaining.discard(name)
                yield name, Result(*result)
        text = f"did not run: pytest {self.process.how_it_ended()}\n{output}"
        yield from ((name, Result("failed", text)) for name in remaining)


class Results:
    """A pytest plugin for `OtherPython`: writes the name and the result of each case to a file."""

    def __init__(self, file):
        self.file = file
        self.result = Result("passed")

    def pytest_runtest_logreport(self, report):
        if report.when == "setup":
            self.result = Result("passed")
        if report.outcome != "passed" and self.result.outcome != "failed":
            self.result.outcome = report.outcome
            self.result.text = report.longrepr[2] if report.skipped else report.longreprtext
        self.result.seconds += report.duration
        if report.when == "teardown":
            line = json.dumps([report.nodeid, *dataclasses.astuple(self.result)])
            print(line, file=self.file, flush=True)
