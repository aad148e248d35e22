"""Makes one pytest session run all tests: Python, GoogleTest, and tests in other environments."""

import concurrent.futures
import functools
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

TESTS = pathlib.Path(__file__).resolve().parent
sys.path[:0] = map(str, (TESTS, TESTS / "results", TESTS.parent / "results"))

from batches import GoogleTest, OtherPython, Result, Results
from program import PROGRAM, ROOT

DEPENDENCIES = pathlib.Path(os.environ.get("FATHOM_DEPS_DIR", ROOT / ".deps")).resolve()
IS_BATCH = "FATHOM_TEST_BATCH" in os.environ  # this is the process of an OtherPython
LIMIT_SECONDS = 600  # for a test in this process
EXPECTED_SKIPS = [
    line for line in (TESTS / "skips.txt").read_text().splitlines() if line and line[0] != "#"
]


@functools.cache
def google_test(room):
    return GoogleTest(pathlib.Path(PROGRAM).parent / f"{room}_tests")


@functools.cache
def python_of(path):
    """The Python that runs a test file beside this process: of the virtual environment that the file names in a comment or
    the system's, which has Selenium, else for results/ that of its programs. None: this process runs it.
    """
    if IS_BATCH:
        return None
    found = re.search(r"^# Runs in the Python of (?:the )?(\w+)\.$", path.read_text(), re.M)
    if found and found[1] == "system":
        return pathlib.Path(sys.executable)
    if found or path.is_relative_to(TESTS / "results"):
        return DEPENDENCIES / (found[1] if found else "results") / "bin/python"
    return None


@functools.cache
def other_python(python):
    paths = sorted(path for path in TESTS.rglob("*_test.py") if python_of(path) == python)
    return OtherPython(python, [str(path.relative_to(TESTS)) for path in paths])


class Case(pytest.Item):
    """A test case that a batch (batches.py) runs in another process."""

    def __init__(self, batch, case, line, **node):
        super().__init__(**node)
        self.batch, self.case, self.line = batch, case, line
        self.future = concurrent.futures.Future()
        self.result = Result("failed")

    def runtest(self):
        self.session.stash[BACKGROUND].start(threads=2)
        self.result = self.future.result()
        if self.result.outcome == "skipped":
            pytest.skip(self.result.text)
        if self.result.outcome == "failed":
            raise AssertionError(self.result.text)

    def repr_failure(self, excinfo):
        return self.result.text or super().repr_failure(excinfo)

    def reportinfo(self):
        return self.path, self.line and self.line - 1, f"{self.name} in {self.path.name}"


class CaseFile(pytest.File):
    """A test file with cases that a batch runs."""

    batch = None

    def collect(self):
        try:
            cases = self.batch.cases
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            raise self.CollectError(f"{error}; run tests/run, which builds what tests need")
        own_file = str(self.path.relative_to(TESTS))
        found = {case: line for case, (file, line) in cases.items() if file == own_file}
        if not found:
            raise self.CollectError(f"{self.batch} has no case of {own_file}")
        for case, line in found.items():
            name = case.partition("::")[2] or case
            yield Case.from_parent(self, name=name, batch=self.batch, case=case, line=line)


def case_file(path, parent, batch):
    file = CaseFile.from_parent(parent, path=path)
    file.batch = batch
    return file


def pytest_configure(config):
    if file := os.environ.get("FATHOM_TEST_RESULTS"):
        config.pluginmanager.register(Results(open(file, "w")))


def pytest_collect_file(file_path, parent):
    if file_path.name.endswith("_test.cc"):
        return case_file(file_path, parent, google_test(file_path.relative_to(TESTS).parts[0]))


def pytest_pycollect_makemodule(module_path, parent):
    if python := python_of(module_path):
        return case_file(module_path, parent, other_python(python))


class Background:
    """Runs the batches in threads: one beside the tests of this process, which come first, a second one when those are done."""

    def __init__(self, items):
        self.stopped = False
        self.batches = {}
        for item in items:
            self.batches.setdefault(item.batch, {})[item.case] = item.future
        self.waiting = iter(self.batches.items())  # of both threads
        self.threads = []

    def start(self, threads):
        while len(self.threads) < threads:
            self.threads.append(threading.Thread(target=self.run, daemon=True))
            self.threads[-1].start()

    def run(self):
        for batch, futures in self.waiting:
            try:
                for case, result in batch.run(list(futures)):
                    futures[case].set_result(result)
                    if self.stopped:
                        return
            except Exception as error:
                for future in futures.values():
                    if not future.done():
                        future.set_exception(error)

    def stop(self):
        self.stopped = True
        while any(thread.is_alive() for thread in self.threads):
            for batch in self.batches:
                if batch.process:
                    batch.process.kill()
            time.sleep(0.1)


BACKGROUND = pytest.StashKey()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: isinstance(item, Case))


def pytest_collection_finish(session):
    background = Background(item for item in session.items if isinstance(item, Case))
    session.stash[BACKGROUND] = background
    if not session.config.option.collectonly:
        background.start(threads=1)


def pytest_sessionfinish(session):
    if BACKGROUND in session.stash:
        session.stash[BACKGROUND].stop()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Fails a test that takes longer than LIMIT_SECONDS."""

    def fail(*_):
        raise TimeoutError(f"took longer than {LIMIT_SECONDS} s")

    if not isinstance(item, Case):  # the process of a Case has its own limit
        signal.signal(signal.SIGALRM, fail)
        signal.alarm(LIMIT_SECONDS)
    yield
    signal.alarm(0)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if isinstance(item, Case) and call.when == "call":
        report.duration = item.result.seconds
        if report.skipped:
            report.longrepr = (str(item.path), item.line, item.result.text)
    if report.skipped and "CI" in os.environ:
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if not any(re.search(expected, reason) for expected in EXPECTED_SKIPS):
            report.outcome = "failed"
            report.longrepr = f"skipped for a reason that tests/skips.txt does not list: {reason}"
