"""Runs two builds by turns, one row after the other, and says which rows of the second are slower.

results/ab build/default/fathom_bench other/build/default/fathom_bench -o ab -- --fathom_threads=1 --fathom_profile

A row's rounds follow each other, each a process of its own; which program comes first changes from round to round. With
--most-rounds, rows too noisy for a change of 2.5 % to be told go on, three rounds at a time, until one can be. Writes
ab/a.json and ab/b.json, whose repetitions are the rounds, then does what results/gate ab/a.json ab/b.json does.
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
from fathom_ab.rounds import BLOCK, enough
from fathom_gate import __main__ as gate
from fathom_runs.arguments import command_line
from fathom_runs.failures import errors_of
from fathom_runs.output import make_folder, replace
from fathom_runs.source import RunError


def main():
    arguments, passed = parsed()
    programs = [
        Program(path, passed, arguments.limit_seconds) for path in (arguments.a, arguments.b)
    ]
    files = [arguments.output / name for name in ("a.json", "b.json")]
    try:
        make_folder(arguments.output)
        rows = common(programs)
        for file in files:  # an earlier run's
            errors_of(file).unlink(missing_ok=True)
        run(programs, rows, files, arguments.rounds, arguments.most_rounds)
    except RunError as error:
        print(f"ab: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\nab: interrupted; {files[0]} and {files[1]} hold finished rows", file=sys.stderr)
        return 130
    return gate.main([*map(str, files)])


def common(programs):
    first, second = (program.rows() for program in programs)
    also = set(second)
    rows = [name for name in first if name in also]
    if not rows:
        raise RunError(
            f"{programs[1].path}: has none of the {len(first)} rows of {programs[0].path}, expected "
            "rows of the same names"
        )
    return rows


def run(programs, rows, files, rounds, most):
    """Measures every row; both files are whole after each."""
    counted = str(rounds) if most == rounds else f"{rounds} to {most}"
    marks = {"ab_id": uuid.uuid4().hex, "ab_rounds": counted, "ab_block": str(BLOCK)}
    entries = [[], []]
    started = time.monotonic()
    for index, name in enumerate(rows):
        runs = [[], []]
        failed = set()  # sides; their other rounds would take as long to fail
        for turn in range(most):
            if turn >= rounds and turn % BLOCK == 0 and (failed or enough(*runs, name)):
                break
            show(index, rows, turn, rounds, time.monotonic() - started)
            for side in (0, 1) if turn % 2 == 0 else (1, 0):
                if side in failed:
                    continue
                found, reason = programs[side].measure(name)
                runs[side].append(found)
                if reason is not None:
                    failed.add(side)
                    runs[side].clear()
                    record(programs[side], files[side], name, turn, reason)
        for side, program in enumerate(programs):
            entries[side] += repetitions(runs[side], index)
            typed = " ".join([str(program.path), *program.arguments])
            context = program.context | marks | {"command_line": typed}
            whole = {"context": context, "benchmarks": entries[side]}
            replace(files[side], json.dumps(whole, indent=1) + "\n")
    show_nothing()


def record(program, file, name, turn, reason):
    failure = {"name": name, "repetition": turn, "reason": reason}
    with errors_of(file).open("a", encoding="utf-8") as errors:
        errors.write(json.dumps(failure) + "\n")
    print(f"ab: {program.path}: {name}: {reason}", file=sys.stderr)


def show(index, rows, turn, rounds, elapsed):
    """A status line where stderr is a terminal."""
    if not sys.stderr.isatty():
        return
    done = (index + min(turn / rounds, 1)) / len(rows)
    left = f", about {elapsed * (1 - done) / done / 60:.0f} min left" if done else ""
    of = f" of {rounds}" if turn < rounds else ""
    text = f"[{index + 1}/{len(rows)}] round {turn + 1}{of}{left}  {rows[index]}"
    columns = shutil.get_terminal_size().columns
    print(f"\r\033[K{text[:columns - 1]}", end="", file=sys.stderr, flush=True)


def show_nothing():
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)


def parsed():
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = command_line("ab", __doc__, allow_abbrev=False)
    add = parser.add_argument
    add("a", type=pathlib.Path, metavar="A", help="the program to compare with")
    add("b", type=pathlib.Path, metavar="B", help="the program that may be slower")
    add(
        "-o",
        dest="output",
        type=pathlib.Path,
        metavar="DIR",
        default=pathlib.Path("ab"),
        help="folder for a.json and b.json (ab)",
    )
    add("--rounds", type=rounds_of, metavar="N", default=9, help="runs of each program a row (9)")
    add(
        "--most-rounds",
        type=rounds_of,
        metavar="N",
        help="noisy rows go on until a change of 2.5 %% can be told, up to so many (as --rounds)",
    )
    add(
        "--limit-seconds",
        type=seconds_of,
        metavar="S",
        default=3600,
        help="a row that takes longer has failed (3600)",
    )
    parser.epilog = "What follows -- goes to both programs, such as --benchmark_filter=REGEX."
    passed = sys.argv[split + 1 :]
    if any(option.startswith("--benchmark_repetitions") for option in passed):
        parser.error("--benchmark_repetitions: rounds are the repetitions, expected --rounds=N")
    arguments = parser.parse_args(sys.argv[1:split])
    arguments.most_rounds = arguments.most_rounds or arguments.rounds
    if arguments.most_rounds < arguments.rounds:
        parser.error(
            f"--most-rounds: {arguments.most_rounds} found, expected no fewer than the "
            f"{arguments.rounds} of --rounds"
        )
    return arguments, passed


def rounds_of(text):
    if not text.isdecimal() or not 2 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number between 2 and 1000")
    return int(text)


def seconds_of(text):
    if not text.isdecimal() or not 1 <= int(text) <= 10**6:
        raise argparse.ArgumentTypeError(f"{text!r}: expected seconds between 1 and 1000000")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
