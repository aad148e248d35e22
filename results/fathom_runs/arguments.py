"""Parsers of command lines and of their values."""

import argparse
import math
import pathlib
import signal
import sys


def command_line(program, words, **more):
    """A parser for results/`program`. The help shows `words` with their line breaks.

    From then on, a closed pipe (`| head`) and Ctrl-C end the program without a message, as they end others.
    """
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.excepthook = without_interrupt
    return argparse.ArgumentParser(
        prog=f"results/{program}",
        description=words,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        **more,
    )


def without_interrupt(kind, error, trace):
    """Prints the traceback of an exception, but none for Ctrl-C."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


def add_page(parser, name):
    """Adds the option -o, the page to write."""
    parser.add_argument(
        "-o",
        dest="output",
        type=pathlib.Path,
        metavar="PAGE",
        default=name,
        help=f"the page to write ({name})",
    )


def positive(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number above 0")
    return int(text)


def percentage(text):
    return bounded(text, 0, 1000)


def share(text):
    return bounded(text, 0, 1)


def bounded(text, low, high):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low < value < high:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number between {low} and {high}")
    return value
