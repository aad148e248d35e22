"""Says which rows of a run are slower than those of another on the same machine, by how much, and which op types did it.

results/gate base.json new.json
results/gate base.json new.json --noise=aa.json --markdown=comment.md --json=verdict.json

Exit codes: 0 no regression, 1 a row is slower or has vanished, 2 wrong usage or unusable input.
"""

import argparse
import pathlib
import re
import sys
from dataclasses import dataclass

import numpy as np

from fathom_gate import document, markdown, terminal, words
from fathom_gate.causes import causes
from fathom_gate.noise import Noise, between, taking_turns
from fathom_gate.rows import FASTEST, Rows, read, same_machine, shared_block
from fathom_gate.verdict import Judged, Rule, judge, too_few_repetitions
from fathom_runs.arguments import command_line, percentage, share
from fathom_runs.output import replace
from fathom_runs.source import RunError


FIELDS = (FASTEST, "p50_us", "real_time")


@dataclass(frozen=True)
class Comparison:
    """All that the outputs show."""

    base: Rows
    new: Rows
    judged: Judged
    causes: dict  # op types by step that moved
    notes: list[str]


def main(command=None):
    arguments = parsed(command)
    try:
        found = compare(arguments)
        for path, form in ((arguments.markdown, markdown), (arguments.json, document)):
            if path:
                replace(path, form.text(found))
    except RunError as error:
        print(f"gate: {error}", file=sys.stderr)
        return 2
    print(terminal.text(found, arguments.all, sys.stdout.isatty()), end="")
    return 1 if found.judged.regressed else 0


def compare(arguments):
    base, new, *others = (
        chosen(read(path, arguments.by), arguments.filter)
        for path in (arguments.base, arguments.new, *arguments.noise)
    )
    settings = same_machine(base, new)
    for other in others:
        settings += [f"{other.path}: {one}" for one in same_machine(base, other)]
    if not base.times.keys() & new.times.keys():
        raise RunError(f"{new.path}: has no row of {base.path}, expected rows of the same names")
    block = shared_block(base, new)
    if too_few_repetitions(base, new, arguments.alpha, block):
        raise RunError(
            f"{new.path}: too few repetitions to tell any change, expected "
            f"--benchmark_repetitions={words.ADVISED} in both runs"
        )
    smallest = np.log1p(arguments.smallest / 100)
    if others:
        noise = between(base, others, smallest)
    else:
        noise = taking_turns(smallest) if block else Noise(smallest)
    rule = Rule(arguments.alpha, np.log1p(arguments.same / 100))
    judged = judge(base, new, noise, rule, block)
    notes = list(words.notes(judged, noise, settings))
    return Comparison(base, new, judged, causes(judged, base, new), notes)


def chosen(rows, pattern):
    """The rows whose name the pattern is found in."""
    if pattern is None:
        return rows
    times = {name: one for name, one in rows.times.items() if pattern.search(name)}
    failed = {name: why for name, why in rows.failed.items() if pattern.search(name)}
    if not times:
        raise RunError(
            f"{rows.path}: --filter={pattern.pattern} finds none of its {len(rows.times)} rows, "
            "expected a part of a name"
        )
    return Rows(rows.path, rows.context, times, failed)


def parsed(command):
    parser = command_line("gate", __doc__, allow_abbrev=False)
    add = parser.add_argument
    add("base", type=pathlib.Path, help="JSON of --benchmark_out, with repetitions")
    add("new", type=pathlib.Path, help="likewise, of the same machine")
    add(
        "--noise",
        type=pathlib.Path,
        action="append",
        default=[],
        metavar="FILE",
        help="another run of the base's program: how much runs differ where nothing has changed; may be given again",
    )
    add(
        "--smallest",
        type=percentage,
        default=2,
        metavar="PERCENT",
        help="smaller changes never count (2)",
    )
    add(
        "--same",
        type=percentage,
        default=5,
        metavar="PERCENT",
        help="a row is SAME where a larger change would have been detected, else AMBIGUOUS (5)",
    )
    add(
        "--alpha",
        type=share,
        default=0.05,
        metavar="SHARE",
        help="of the rows called slower or faster, how many may be so by chance (0.05)",
    )
    add(
        "--by",
        choices=FIELDS,
        default=FIELDS[0],
        help="the time of a repetition: its fastest sample, which has the least interference (min_us), its median "
        "sample, or its mean; the mean where a row has no other",
    )
    add("--filter", type=expression, metavar="REGEX", help="rows in whose names it is found")
    add("--all", action="store_true", help="prints the rows that did not move, too")
    add("--markdown", type=pathlib.Path, metavar="FILE", help="writes the verdict there, too")
    add("--json", type=pathlib.Path, metavar="FILE", help="likewise")
    return parser.parse_args(command)


def expression(text):
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r}: no regular expression ({error})") from error


if __name__ == "__main__":
    sys.exit(main())
