"""Compares two runs of one machine: which rows are slower, by how much, and which op types explain it.

results/gate base.json new.json --noise=again.json,third.json,fourth.json
results/gate ab/a.json ab/b.json --markdown=comment.md --json=verdict.json

Exit codes: 0 no regression, 1 a row is slower, missing or failed in the new run, 2 wrong usage or unusable input, 3 no
verdict: too many rows are undecided.
"""

import argparse
import pathlib
import re
import sys
from dataclasses import dataclass, replace as with_fields

from fathom_gate import document, markdown, options, runs, terminal, waivers, words
from fathom_gate.causes import causes
from fathom_gate.rates import Rates, rates_of
from fathom_gate.rounds import more_rounds
from fathom_gate.rows import (
    Rows,
    expect_other_runs,
    read,
    same_machine,
    shared_block,
)
from fathom_gate.shift import of_rounds
from fathom_gate.verdict import NO_VERDICT, REGRESSION, Verdicts, judge, too_few_repetitions
from fathom_runs.arguments import command_line, share
from fathom_runs.entries import FASTEST, TIMES
from fathom_runs.output import expect_distinct, message_stream, replace
from fathom_runs.source import EXPECTED, RunError
from fathom_runs.words import plural


@dataclass(frozen=True)
class Comparison:
    """The content of all outputs."""

    base: Rows
    new: Rows
    verdicts: Verdicts
    causes: dict  # list of Cause by name of a step that changed
    notes: list[str]
    rates: Rates | None  # of errors, if a verdict is possible
    more_rounds: dict  # of results/ab, by AMBIGUOUS row


def main(command=None):
    arguments = parsed(command)
    return run(arguments, check(arguments))


def run(arguments, known):
    """Compares and writes the outputs. `known` are the waivers. Returns the exit code. Raises RunError."""
    found = compare(arguments, known)
    for path, form in ((arguments.markdown, markdown), (arguments.json, document)):
        if path:
            replace(path, form.text(found))
    stream = message_stream(arguments.markdown, arguments.json)
    print(terminal.text(found, arguments.all, stream.isatty()), end="", file=stream)
    if found.verdicts.exit_code == REGRESSION:
        return 1
    if found.verdicts.exit_code == NO_VERDICT:
        return 3
    return 0


def check(arguments):
    """Returns the waivers. Raises RunError for what can be refused before the runs are read."""
    known = [] if arguments.waivers is None else waivers.read(arguments.waivers)
    read_files = [arguments.base, arguments.new, *arguments.noise, arguments.waivers]
    for option in ("markdown", "json"):
        if path := getattr(arguments, option):
            expect_distinct(path, filter(None, read_files), f"--{option}")
    return known


def compare(arguments, known):
    """Compares the runs; rows with one of the `known` waivers may be slower. Raises RunError."""
    files = read([arguments.base, arguments.new, *arguments.noise], arguments.by)
    expect_other_runs(files)
    names = [name for one in files[:2] for name in (*one.times, *one.failed)]
    waivers.expect_rows(arguments.waivers, known, names)
    base, new, *others = (chosen(rows, arguments.filter) for rows in files)
    for one in (base, *others):
        if not one.times:
            raise RunError(f"{one.path}: no measured row, {EXPECTED}")
    settings = same_machine(base, new) if new.times else []
    for other in others:
        settings += [f"{other.path}: {one}" for one in same_machine(base, other)]
    has_common = not base.times.keys().isdisjoint(new.times)
    if not has_common and base.times.keys().isdisjoint(new.failed):
        raise RunError(f"{new.path}: has no row of {base.path}, expected rows with the same names")
    settings += [f"{one.path}: {one.disturbed_words}" for one in (base, new) if one.disturbed_words]
    rule = options.rule(arguments)
    block = shared_block(base, new)
    if block:
        verdicts = judge(base, new, of_rounds(base, new, block), rule)
        if has_common and too_few_repetitions(base, new, arguments.alpha, block):
            raise RunError(
                f"{new.path}: too few rounds to detect any change, expected "
                f"--rounds={words.ADVISED} in both runs"
            )
        more = {row.name: more_rounds(row, rule, block) for row in verdicts.undecided}
        notes = list(words.notes_of_rounds(verdicts, more))
        if others:
            notes.append(f"--noise is not used: the files of {words.AB} hold the noise")
    else:
        shifts, noises = runs.shifts([base, *others], new)
        verdicts = judge(base, new, shifts, rule)
        more = {}
        notes = list(words.notes_of_runs(verdicts, rule, noises))
    verdicts = waivers.waived(verdicts, known)
    program, count = ("ab", rounds_of(verdicts)) if block else ("gate", 1 + len(others))
    return Comparison(
        base,
        new,
        verdicts,
        causes(verdicts, base, new),
        settings + notes,
        rates_of(verdicts, program, count, rule.smallest),
        more,
    )


def rounds_of(verdicts):
    """The rounds that every row has."""
    return min((min(row.repetitions) for row in verdicts.primary), default=0)


def chosen(rows, pattern):
    """The rows with a name that matches the pattern."""
    if pattern is None:
        return rows
    fields = ("times", "failed", "disturbed")
    matching = {
        key: {name: one for name, one in getattr(rows, key).items() if pattern.search(name)}
        for key in fields
    }
    if not matching["times"] and not matching["failed"]:
        raise RunError(
            f"{rows.path}: --filter={pattern.pattern} matches none of its {plural(len(rows.times), 'row')}, "
            "expected a regular expression for names of rows"
        )
    return with_fields(rows, **matching)


def parsed(command):
    parser = command_line("gate", __doc__, allow_abbrev=False)
    add = parser.add_argument
    add("base", type=pathlib.Path, metavar="BASE", help="JSON of --benchmark_out, with repetitions")
    add(
        "new",
        type=pathlib.Path,
        metavar="NEW",
        help="JSON of --benchmark_out, with repetitions, from the same machine",
    )
    add(
        "--noise",
        type=files_of,
        action="extend",
        default=[],
        metavar="FILE[,FILE...]",
        help="other runs of the program of BASE, which measure the noise between processes: three or more can find a "
        "change of 5 %% where processes differ by 1 %%; repeatable",
    )
    options.add(parser)
    add(
        "--alpha",
        type=share,
        default=0.05,
        metavar="SHARE",
        help="expected share of false discoveries among rows that are SLOWER or FASTER (0.05)",
    )
    add(
        "--by",
        choices=TIMES,
        default=FASTEST,
        help="time of a repetition: its fastest sample (min_us, the default), its median sample (p50_us) or its mean "
        "(real_time). Interference only slows a sample. Rows without samples in one of the files use the mean",
    )
    add(
        "--filter",
        type=expression,
        metavar="REGEX",
        help="compare only rows with a name that matches",
    )
    return parser.parse_args(command)


def files_of(text):
    """The files of one --noise: a name may contain a comma if that file exists."""
    whole = pathlib.Path(text)
    return [whole] if whole.exists() else [pathlib.Path(one) for one in text.split(",") if one]


def expression(text):
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r}: not a regular expression ({error})") from error


if __name__ == "__main__":
    sys.exit(main())
