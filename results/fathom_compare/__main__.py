"""Makes one page that compares machines, or versions of LibTorch on one machine.

The page is one HTML file without external links. The side of the first file is the base.

results/compare a.json b.json -o page.html
results/compare a1.json a2.json a3.json --against b1.json b2.json b3.json -o page.html
"""

import pathlib
import sys

from fathom_compare import sides
from fathom_runs.arguments import add_page, command_line
from fathom_runs.output import expect_distinct, message_stream
from fathom_runs.words import plural


def main():
    arguments = parsed()
    expect_distinct(arguments.output, [*arguments.files, *arguments.against])
    found = sides.read(arguments.files, arguments.against)
    # Imports SciPy and Matplotlib, which takes long, so wrong input must fail before.
    from fathom_compare import write

    comparisons, missing = write.comparison(found, arguments.output)
    stream = message_stream(arguments.output)
    for one in comparisons:
        counts = (plural(len(one.steps), "step"), plural(len(one.op_types), "op type"))
        ops = plural(len(one.ops), "op")
        print(
            f"{arguments.output}: {one.words}: {', '.join(counts)} and {ops} on both", file=stream
        )
    for line in missing:
        print(f"not shown: {line}", file=stream)
    return 0


def parsed():
    parser = command_line("compare", __doc__)
    parser.add_argument(
        "files",
        nargs="+",
        type=pathlib.Path,
        metavar="FILE",
        help="files of --benchmark_out. Files of one machine and one LibTorch are one side",
    )
    parser.add_argument(
        "--against",
        nargs="+",
        type=pathlib.Path,
        default=[],
        metavar="FILE",
        help="the files of the second side, even if machine and LibTorch are those of the first "
        "(two builds, two settings, or two machines whose names are equal)",
    )
    add_page(parser, "compare.html")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
