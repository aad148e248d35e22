"""Runs a program of results/. None of its failures has the exit code of a finding.

python -m fathom_runs.program PACKAGE ARGUMENTS...
"""

import contextlib
import os
import pathlib
import runpy
import signal
import sys
import traceback

from fathom_runs.source import RunError, shown

FAILED = 2  # exit code of unusable input and of a failure of the program itself
TRACEBACK = "FATHOM_TRACEBACK"  # in the environment, shows where an exception was raised
IN_CHECKOUT = pathlib.Path(__file__).parents[1].joinpath("launch.sh").exists()


def command(program):
    """What a user types for a program of results/: pip installs results/gate as fathom-gate."""
    return f"results/{program}" if IN_CHECKOUT else f"fathom-{program}"


def message_name(program):
    """The first word of the program's messages."""
    return command(program).removeprefix("results/")


def run(main, name=None):
    """Exits with the code that main() returns, or with FAILED and one line after an exception.

    A closed pipe (`| head`) and Ctrl-C end the program without a message, as they end others.
    """
    name = name or pathlib.Path(sys.argv[0]).stem
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.excepthook = without_interrupt
    open_streams()
    try:
        code = main()
        sys.stdout.flush()
    except SystemExit as end:
        code = end.code
    except Exception as error:
        code = failed(name, words(error))
        if os.environ.get(TRACEBACK):
            traceback.print_exc()
    if isinstance(code, str):
        code = failed(name, code)
    try:
        sys.stdout.flush()
    except OSError as error:
        code = failed(name, f"stdout: {error.strerror}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes it again
    sys.exit(code)


def failed(name, line):
    with contextlib.suppress(OSError):
        print(f"{name}: {line}", file=sys.stderr)
    return FAILED


def words(error):
    """An exception in one line."""
    if isinstance(error, RunError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return ": ".join(filter(None, [shown(error.filename or ""), error.strerror]))
    line = (str(error).splitlines() or [""])[0]
    return f"failed with {type(error).__name__}: {line} ({TRACEBACK}=1 shows where)"


def without_interrupt(kind, error, trace):
    """Prints the traceback of an exception, but none for Ctrl-C."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


def open_streams():
    """Opens those of stdin, stdout and stderr that are closed. What an encoding lacks, such as µ in ASCII, is escaped."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)
    sys.stdout.reconfigure(errors="backslashreplace")


def run_package(package):
    """Runs the package of a program, which takes its arguments from sys.argv. Exits as run() does."""
    run(
        lambda: runpy.run_module(package, run_name="__main__", alter_sys=True) and 0,
        message_name(package.removeprefix("fathom_")),
    )


def console_script():
    """Runs the package fathom_NAME as the command fathom-NAME, which pip has installed."""
    run_package(pathlib.Path(sys.argv[0]).stem.replace("-", "_"))


if __name__ == "__main__":
    run_package(sys.argv.pop(1))
