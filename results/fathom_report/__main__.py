"""Makes one page of figures and tables from the JSON of fathom_bench.

The page is one HTML file without external links.

results/report run.json -o report.html
results/report cpu.json threads.json steps.jsonl -o report.html --figures figures
"""

import pathlib
import sys

from fathom_report.run import read
from fathom_runs.arguments import add_page, command_line
from fathom_runs.beside import SAMPLES, beside
from fathom_runs.output import expect_distinct, message_stream
from fathom_runs.words import plural


def main():
    arguments = parsed()
    expect_distinct(arguments.output, arguments.files)
    run = read(with_samples(arguments.files))
    # Imports SciPy and Matplotlib, which takes long, so wrong input must fail before.
    from fathom_report import write

    figures, missing = write.report(run, arguments.output, arguments.figures)
    steps, ops = len(run.steps) + len(run.rank_steps), len(run.ops) + len(run.rank_ops)
    stream = message_stream(arguments.output)
    print(
        f"{arguments.output}: {plural(len(figures), 'figure')}, {plural(steps, 'step')}, {plural(ops, 'op')}"
        + (f"; {3 * len(figures)} files in {arguments.figures}" if arguments.figures else ""),
        file=stream,
    )
    for needs, group in grouped(missing).items():
        print(f"not shown: {', '.join(group)}: {needs}", file=stream)
    return 0


def parsed():
    parser = command_line("report", __doc__)
    parser.add_argument(
        "files",
        nargs="+",
        type=pathlib.Path,
        metavar="FILE",
        help="files of --benchmark_out and of --fathom_samples, all of one machine; "
        "FILE.samples.jsonl is read with FILE",
    )
    add_page(parser, "report.html")
    parser.add_argument(
        "--figures",
        type=pathlib.Path,
        metavar="DIR",
        help="also write every figure there: SVG, PNG, and its data as CSV",
    )
    return parser.parse_args()


def with_samples(files):
    """The files, and the samples that a study wrote beside them. A study that was interrupted early has none."""
    given = {file.resolve() for file in files}
    found = [beside(file, SAMPLES) for file in files if file.is_file()]
    return files + [
        file
        for file in found
        if file.exists() and file.resolve() not in given and file.stat().st_size
    ]


def grouped(missing):
    """Keys of missing figures, by the rows that they need."""
    groups = {}
    for one in missing:
        groups.setdefault(one.needs, []).append(one.key)
    return groups


if __name__ == "__main__":
    sys.exit(main())
