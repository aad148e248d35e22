"""Makes one page, which works from a file, of a folder of runs: trends, where rows changed, and what else changed there.

results/history runs -o history.html
"""

import pathlib
import sys

from fathom_history import folder
from fathom_history.machines import machines
from fathom_runs.arguments import command_line, percentage
from fathom_runs.output import expect_apart, replace
from fathom_runs.source import RunError
from fathom_runs.words import plural


def main():
    arguments = parsed()
    try:
        expect_apart(arguments.output)
        runs, refused = folder.runs(arguments.folder, arguments.output)
        from fathom_history import analysis, page  # SciPy, which wrong input need not wait for

        analyses = [analysis.analysed(one, arguments.smallest) for one in machines(runs)]
        lines = [line.replace(f"{arguments.folder}/", "", 1) for line in refused]
        replace(arguments.output, page.page(analyses, lines, arguments.smallest))
    except RunError as error:
        print(f"history: {error}", file=sys.stderr)
        return 2
    for line in refused:
        print(f"history: {line}", file=sys.stderr)
    counts = (plural(len(analyses), "machine"), *page.facts(analyses))
    print(f"{arguments.output}: {' · '.join(counts)}")
    return 0


def parsed():
    parser = command_line("history", __doc__)
    parser.add_argument(
        "folder",
        type=pathlib.Path,
        metavar="DIR",
        help="JSON of --benchmark_out, a file a run, in any order and of any machines; "
        "folders below are read, too",
    )
    parser.add_argument(
        "-o",
        dest="output",
        type=pathlib.Path,
        metavar="PAGE",
        default="history.html",
        help="the page (history.html)",
    )
    parser.add_argument(
        "--smallest",
        type=percentage,
        default=2,
        metavar="PERCENT",
        help="smaller changes never count (2)",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
