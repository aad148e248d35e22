"""Runs two builds alternately, row by row, and tells which rows of the second are slower.

results/ab build/default/fathom_bench other/build/default/fathom_bench -o ab -- --fathom_threads=1 --fathom_profile

In a round, each program measures the row once, in a new process. The next round starts with the other program. With
--most-rounds=N, a noisy row gets three more rounds at a time, until the interval of its change is within half of --same
or after N rounds. Writes ab/a.json and ab/b.json, in which the repetitions are the rounds, then runs the gate on them.
"""

import argparse
import json
import pathlib
import shutil
import sys
import time
import uuid

from fathom_ab.merge import repetitions
from fathom_ab.program import Program
from fathom_ab.rounds import BLOCK, enough, fewest
from fathom_gate import __main__ as gate, options
from fathom_gate.rows import MAX_ROUNDS
from fathom_gate.verdict import Rule
from fathom_gate.waivers import expect_rows
from fathom_runs.arguments import command_line
from fathom_runs.entries import FASTEST
from fathom_runs.failures import errors_of
from fathom_runs.output import make_folder, replace
from fathom_runs.program import command, message_name
from fathom_runs.source import RunError, shown
from fathom_runs.words import plural


NAME = message_name("ab")
# Options of Google Benchmark that this program gives itself, and what to use instead.
OWN = {
    "--benchmark_repetitions": "the rounds are the repetitions, expected --rounds=N",
    "--benchmark_out": f"{command('ab')} writes DIR/a.json and DIR/b.json, expected -o DIR",
}


def main():
    arguments, passed = parsed()
    programs = [
        Program(path, passed, arguments.limit_seconds) for path in (arguments.a, arguments.b)
    ]
    files = [arguments.base, arguments.new]
    rows = []
    try:
        known = gate.check(arguments)
        make_folder(arguments.output)
        rows = common(programs)
        expect_rows(arguments.waivers, known, rows)
        for file in files:  # from an earlier run
            file.unlink(missing_ok=True)
            errors_of(file).unlink(missing_ok=True)
        run(programs, rows, files, arguments)
    except KeyboardInterrupt:
        held = f"{files[0]} and {files[1]} hold the finished rows"
        if not rows or not files[1].exists():
            held = "no row is finished"
        print(f"\n{NAME}: interrupted; {held}", file=sys.stderr)
        return 130
    return gate.run(arguments, known)


def common(programs):
    """Rows that both programs have, in the order of the first. Raises RunError if there are none."""
    first, second = (program.rows() for program in programs)
    others = set(second)
    rows = [name for name in first if name in others]
    if not rows:
        raise RunError(
            f"{programs[1].path}: has none of the {plural(len(first), 'row')} of {programs[0].path}, expected "
            "rows with the same names"
        )
    return rows


def run(programs, rows, files, arguments):
    """Measures every row. Both files are complete after each row."""
    rounds, most, rule = arguments.rounds, arguments.most_rounds, options.rule(arguments)
    counted = str(rounds) if most == rounds else f"{rounds} to {most}"
    added = {"ab_id": uuid.uuid4().hex, "ab_rounds": counted, "ab_block": str(BLOCK)}
    entries = [[], []]
    started = time.monotonic()
    for index, name in enumerate(rows):
        runs = [[], []]
        failed = set()  # sides that failed once; they skip the remaining rounds
        for number in range(most):
            if number >= rounds and number % BLOCK == 0 and (failed or enough(*runs, name, rule)):
                break
            show_status(index, rows, number, rounds, time.monotonic() - started)
            for side in (0, 1) if number % 2 == 0 else (1, 0):
                if side in failed:
                    continue
                found, reason = programs[side].measure(name)
                runs[side].append(found)
                if reason is not None:
                    failed.add(side)
                    runs[side].clear()
                    record_failure(programs[side], files[side], name, number, reason)
        for side, program in enumerate(programs):
            entries[side] += repetitions(runs[side], index)
            typed = " ".join([shown(one) for one in (program.path, *program.arguments)])
            context = program.context | added | {"command_line": typed}
            document = {"context": context, "benchmarks": entries[side]}
            replace(files[side], json.dumps(document, indent=1) + "\n")
    clear_status()


def record_failure(program, file, name, number, reason):
    failure = {"name": name, "repetition": number, "reason": reason}
    with errors_of(file).open("a", encoding="utf-8") as errors:
        errors.write(json.dumps(failure) + "\n")
    print(f"{NAME}: {program.path}: {name}: {reason}", file=sys.stderr)


def show_status(index, rows, number, rounds, elapsed):
    """Prints a status line if stderr is a terminal."""
    if not sys.stderr.isatty():
        return
    done = (index + min(number / rounds, 1)) / len(rows)
    left = f", about {elapsed * (1 - done) / done / 60:.0f} min left" if done else ""
    of = f" of {rounds}" if number < rounds else ""
    text = f"[{index + 1}/{len(rows)}] round {number + 1}{of}{left}  {rows[index]}"
    columns = shutil.get_terminal_size().columns
    print(f"\r\033[K{text[:columns - 1]}", end="", file=sys.stderr, flush=True)


def clear_status():
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)


def parsed():
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = command_line("ab", __doc__, allow_abbrev=False)
    add = parser.add_argument
    add("a", type=pathlib.Path, metavar="A", help="the first program, the base")
    add("b", type=pathlib.Path, metavar="B", help="the second program, which may be slower")
    add(
        "-o",
        dest="output",
        type=pathlib.Path,
        metavar="DIR",
        default=pathlib.Path("ab"),
        help="folder for a.json and b.json (ab)",
    )
    add(
        "--rounds", type=rounds_of, metavar="N", default=9, help="runs of each program, per row (9)"
    )
    add(
        "--most-rounds",
        type=rounds_of,
        metavar="N",
        help="largest number of rounds of a noisy row (value of --rounds)",
    )
    add(
        "--limit-seconds",
        type=seconds_of,
        metavar="S",
        default=3600,
        help="time limit of one run of a row; a longer run fails (3600)",
    )
    options.add(parser)
    # Of results/gate alone: the rounds are chosen for these.
    parser.set_defaults(noise=[], filter=None, by=FASTEST, alpha=Rule.alpha)
    parser.epilog = "Options after -- go to both programs, for example --benchmark_filter=REGEX."
    passed = sys.argv[split + 1 :]
    for option, why in OWN.items():
        if any(one.startswith(option) for one in passed):
            parser.error(f"{option}: {why}")
    arguments = parser.parse_args(sys.argv[1:split])
    arguments.base, arguments.new = (arguments.output / name for name in ("a.json", "b.json"))
    arguments.most_rounds = arguments.most_rounds or arguments.rounds
    if arguments.most_rounds < arguments.rounds:
        parser.error(
            f"--most-rounds: found {arguments.most_rounds}, expected at least the "
            f"{arguments.rounds} of --rounds"
        )
    return arguments, passed


def rounds_of(text):
    least = fewest()
    if not text.isdecimal() or not least <= int(text) <= MAX_ROUNDS:
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected a number between {least}, the fewest that can show a change, and {MAX_ROUNDS}"
        )
    return int(text)


def seconds_of(text):
    if not text.isdecimal() or not 1 <= int(text) <= 10**6:
        raise argparse.ArgumentTypeError(f"{text!r}: expected seconds between 1 and 1000000")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
