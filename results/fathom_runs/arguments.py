"""Parsers of command lines and of their values."""

import argparse
import math
import pathlib
import sys

from fathom_runs.program import command


class Parser(argparse.ArgumentParser):
    """Prints one line for wrong usage."""

    def error(self, message):
        name = pathlib.PurePath(self.prog.partition(" ")[0]).stem
        line = " ".join(message.splitlines())
        self.exit(2, f"{name}: {line} ({self.prog} --help shows what is expected)\n")

    def _print_message(self, message, file=None):
        (file or sys.stderr).write(message or "")  # argparse ignores a full disk


def command_line(program, words, **more):
    """A parser for results/`program`. The help shows `words` with their line breaks."""
    return Parser(
        prog=command(program),
        description=words.replace(f"results/{program}", command(program)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        **more,
    )


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
