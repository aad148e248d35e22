"""Predicts the times of a run's steps on another machine, and shows how good such predictions are.

results/predict study.json --on machine.json
results/predict study.json --on amd-epyc-zen5-2-cores -o prediction.md
results/predict study.json --write-machine machine.json
results/predict --errors
results/predict ranks.json --ranks --phases steps.json --measured pairs.json

Exit codes: 0 ok, 2 wrong usage or unusable input.
"""

import pathlib
import sys
from dataclasses import dataclass

from fathom_predict import document, errors, machine, page, ranks, run as runs, tables
from fathom_predict.measure import machine_of
from fathom_predict.model import Model, Prediction
from fathom_runs.arguments import bounded, command_line
from fathom_runs.output import expect_distinct, message_stream, replace
from fathom_runs.source import RunError, unpacked

MARKDOWN, JSON = ".md", ".json"


@dataclass(frozen=True)
class Found:
    """The content of all outputs of a prediction."""

    run_path: pathlib.Path
    there_name: str  # as typed
    here: machine.Machine
    there: machine.Machine
    predictions: list[Prediction]
    notes: list[str]
    errors: errors.Errors


def main():
    arguments = parsed()
    expect_output(arguments)
    if arguments.write_machine:
        made = write_machine(arguments.file, arguments.write_machine)
    elif arguments.ranks:
        made = ranks.page_of(arguments)
    elif arguments.errors:
        found = errors.measure(arguments.runs, arguments.without)
        made = shown(found, page.all_errors, document.all_errors, arguments.output)
    else:
        made = shown(predict(arguments), page.prediction, document.prediction, arguments.output)
    print(made, end="", file=message_stream(arguments.output, arguments.write_machine))
    return 0


def expect_output(arguments):
    """Raises RunError if the output has an unknown format or is an input."""
    output = arguments.write_machine or arguments.output
    if not output:
        return
    machines = [machine.find(name) for name in (arguments.on, arguments.here) if name]
    runs_read = [*errors.files(arguments.runs), *filter(None, [arguments.file])]
    option = "--write-machine" if arguments.write_machine else "-o"
    expect_distinct(output, [*machines, *runs_read], option)
    expected = [JSON] if arguments.write_machine else [MARKDOWN, JSON]
    if unpacked(output).suffix not in expected:
        raise RunError(
            f"{output}: unknown format, expected a name that ends in {' or '.join(expected)}"
        )


def write_machine(file, output):
    found = machine_of(runs.read(file))
    replace(output, machine.text(found))
    return f"{output}: {found.name}\n"


def predict(arguments):
    """Raises RunError."""
    there_path = machine.find(arguments.on)
    there = machine.read(arguments.on)
    run = runs.read(arguments.file)
    runs.expect_steps(run)
    here = machine.read(arguments.here) if arguments.here else machine_of(run)
    model = Model(run, here, there)
    reasons = {step.name: model.missing(step) for step in run.steps}
    if all(reasons.values()):
        raise RunError(
            f"{there_path}: no step of {arguments.file} can be predicted, expected other peaks: "
            f"{next(iter(reasons.values()))}"
        )
    predictions = [model.predict(step) for step in run.steps if not reasons[step.name]]
    notes = page.notes(run, here, there, filter(None, reasons.values()))
    without = [
        field
        for field in machine.OPTIONAL_RATES
        if not (getattr(here, field) and getattr(there, field))
    ]
    measured = errors.measure(arguments.runs, without)
    return Found(arguments.file, arguments.on, here, there, predictions, list(notes), measured)


def shown(found, blocks, as_json, output):
    """The text for the terminal. Also writes the output. Raises RunError."""
    if output:
        is_json = unpacked(output).suffix == JSON
        markdown = tables.as_markdown(list(blocks(found, is_text=False)))
        replace(output, as_json(found) if is_json else markdown)
    return tables.as_text(list(blocks(found, is_text=True)))


def parsed():
    parser = command_line("predict", __doc__)
    add = parser.add_argument
    add("file", nargs="?", type=pathlib.Path, metavar="RUN", help="JSON of --benchmark_out")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--on",
        metavar="MACHINE",
        help=f"predict for this machine: a machine file, or one of {machine.names()}",
    )
    what.add_argument(
        "--write-machine", type=pathlib.Path, metavar="FILE", help="write the machine of RUN"
    )
    what.add_argument(
        "--errors", action="store_true", help="show the errors between all recorded machines"
    )
    what.add_argument(
        "--ranks",
        action="store_true",
        help="print a page of how training scales over more ranks and other networks, from RUN's steps with ranks",
    )
    add(
        "--from",
        dest="here",
        metavar="MACHINE",
        help="the machine of RUN (made from RUN, which then needs op rows)",
    )
    add("-o", dest="output", type=pathlib.Path, metavar="OUT", help="also write OUT.md or OUT.json")
    add(
        "--runs",
        type=pathlib.Path,
        default=errors.FOLDER,
        metavar="DIR",
        help="recorded runs, in a folder for each machine; errors are measured on them (those of the project)",
    )
    add(
        "--without",
        action="append",
        default=[],
        choices=machine.OPTIONAL_RATES,
        help="with --errors: as if the machines lacked this field; repeatable",
    )
    files = {"nargs": "+", "type": pathlib.Path, "metavar": "FILE", "default": []}
    add("--phases", help="with --ranks: files with steps of --fathom_profile", **files)
    add("--measured", help="with --ranks: files with steps of several ranks", **files)
    add(
        "--latency-us",
        type=lambda text: bounded(text, 0, 1e6),
        metavar="US",
        help="with --ranks: latency of a message in all networks (25 at 1 and 10 Gb/s, 5 at 100 and 400 Gb/s)",
    )
    arguments = parser.parse_args()
    if bool(arguments.file) == arguments.errors:
        parser.error("expected RUN with --on, --write-machine or --ranks, and no RUN with --errors")
    for option, is_given, *others in (
        ("--from", arguments.here, "--write-machine", "--errors", "--ranks"),
        ("-o", arguments.output, "--write-machine", "--ranks"),
        ("--without", arguments.without, "--on", "--write-machine", "--ranks"),
        ("--phases", arguments.phases, "--on", "--write-machine", "--errors"),
        ("--measured", arguments.measured, "--on", "--write-machine", "--errors"),
        ("--latency-us", arguments.latency_us, "--on", "--write-machine", "--errors"),
    ):
        for other in others:
            if is_given and getattr(arguments, other.strip("-").replace("-", "_")):
                parser.error(f"argument {option}: not allowed with argument {other}")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
