"""Options of results/gate that results/ab has, too."""

import pathlib

import numpy as np

from fathom_gate.verdict import Rule
from fathom_runs.arguments import percentage, share


def add(parser):
    option = parser.add_argument
    option(
        "--smallest",
        type=percentage,
        default=2,
        metavar="PERCENT",
        help="ignore smaller changes (2)",
    )
    option(
        "--same",
        type=percentage,
        default=5,
        metavar="PERCENT",
        help="a row is SAME if a larger change is ruled out, else AMBIGUOUS (5)",
    )
    option(
        "--undecided",
        type=portion,
        default=0.25,
        metavar="SHARE",
        help="no verdict if this share of rows or more is AMBIGUOUS, and none slower (0.25)",
    )
    option(
        "--waivers",
        type=pathlib.Path,
        metavar="FILE",
        help="TOML of rows that may be slower, each up to a ceiling and until a date",
    )
    option("--all", action="store_true", help="also print SAME and AMBIGUOUS rows")
    for form, name in (("markdown", "Markdown"), ("json", "JSON")):
        option(
            f"--{form}",
            type=pathlib.Path,
            metavar="FILE",
            help=f"also write the result as {name}",
        )


def rule(arguments):
    return Rule(
        arguments.alpha,
        np.log1p(arguments.smallest / 100),
        np.log1p(arguments.same / 100),
        arguments.undecided,
    )


def portion(text):
    return 1.0 if text in ("1", "1.0") else share(text)
