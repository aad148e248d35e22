"""Makes one page of a folder of runs: trends of rows, their changes, and changes of the machine at the same runs.

The page is one HTML file without external links.

results/history runs -o history.html
"""

import pathlib
import sys

from fathom_history import folder
from fathom_history.machines import machines
from fathom_runs.arguments import add_page, command_line, percentage
from fathom_runs.output import expect_distinct, message_stream, replace
from fathom_runs.program import message_name
from fathom_runs.words import plural


def main():
    arguments = parsed()
    expect_distinct(arguments.output)
    held = folder.contents(arguments.folder, arguments.output)
    # Imports SciPy, which takes long, so wrong input must fail before.
    from fathom_history import analysis, page
    from fathom_history.detection.limits import limits

    found = machines(held.runs)
    largest = limits(found)
    analyses = [analysis.analysed(one, arguments.smallest, largest) for one in found]
    refused = [line.replace(f"{arguments.folder}/", "", 1) for line in held.refused]
    notes = [*page.no_runs(refused), *held.notes]
    replace(arguments.output, page.page(analyses, notes, arguments.smallest, largest))
    for line in (*held.refused, *held.notes):
        print(f"{message_name('history')}: {line}", file=sys.stderr)
    counts = (plural(len(analyses), "machine"), *page.facts(analyses))
    print(f"{arguments.output}: {' · '.join(counts)}", file=message_stream(arguments.output))
    return 0


def parsed():
    parser = command_line("history", __doc__)
    parser.add_argument(
        "folder",
        type=pathlib.Path,
        metavar="DIR",
        help="folder of JSON files of --benchmark_out, one per run, of any machines; "
        "subfolders are read, too",
    )
    add_page(parser, "history.html")
    parser.add_argument(
        "--smallest",
        type=percentage,
        default=2,
        metavar="PERCENT",
        help="ignore smaller changes (2)",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
