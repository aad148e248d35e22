"""Converts the JSON of fathom_bench to the formats of dashboards.

results/export medians run.json -o medians.json
results/export counters run.json --counter peak_memory_bytes -o memory.json
results/export bencher run.json --counter flops --counter peak_memory_bytes -o bencher.json
results/export lnt run.json -o report.json
results/export openmetrics run.json --counter flops -o fathom.prom
"""

import json
import pathlib
import sys

from fathom_export import bencher, counters, lnt, medians, openmetrics
from fathom_export.by import timed_by
from fathom_runs.arguments import command_line
from fathom_runs.benchmarks import disturbed, read
from fathom_runs.entries import MEAN, TIMES
from fathom_runs.names import kind
from fathom_runs.output import expect_distinct, message_stream, replace
from fathom_runs.program import message_name
from fathom_runs.words import disturbed_words, plural

FORMS = {
    "medians": (
        medians,
        "Google Benchmark's JSON with one entry per benchmark: the median of its repetitions",
    ),
    "counters": (counters, "one counter as a custom list of github-action-benchmark"),
    "bencher": (bencher, "time and counters in the Bencher Metric Format"),
    "lnt": (lnt, "a report for LLVM's LNT"),
    "openmetrics": (openmetrics, "time and counters as OpenMetrics text, for Prometheus"),
}


def main():
    arguments = parsed()
    form, _ = FORMS[arguments.form]
    expect_distinct(arguments.output, [arguments.file])
    found = read(arguments.file)
    timed = [timed_by(arguments.by, benchmark) for benchmark in found.measured]
    made = form.document(found.context, timed, arguments)
    text = made if isinstance(made, str) else json.dumps(made, indent=1, allow_nan=False) + "\n"
    replace(arguments.output, text)
    if words := disturbed_words(*(disturbed_of(found.measured, one) for one in ("step", "op"))):
        has_other = arguments.form != "counters" and arguments.by == MEAN
        advice = " --by=min_us exports the fastest sample." if has_other else ""
        print(f"{message_name('export')}: {arguments.file}: {words}{advice}", file=sys.stderr)
    stream = message_stream(arguments.output)
    print(f"{arguments.output}: {summary(made, found.measured, arguments)}", file=stream)
    return 0


def disturbed_of(benchmarks, of_kind):
    return disturbed(one for one in benchmarks if kind(one.name) == of_kind)


def summary(made, benchmarks, arguments):
    """How much was written, and the names that the dashboard uses."""
    if arguments.form == "counters":
        tool = counters.tool(arguments.counter)
        return f"{arguments.counter} of {plural(len(made), 'row')}, for tool: {tool}"
    most = max(len(benchmark.entries) for benchmark in benchmarks)
    words = f"{plural(len(benchmarks), 'row')} of {plural(most, 'repetition')}"
    if arguments.form == "lnt":
        return f"{words}, machine {made['machine']['name']}, order {made['run']['llvm_project_revision']}"
    return words


def parsed():
    parser = command_line("export", __doc__)
    forms = parser.add_subparsers(dest="form", required=True)
    adds = {}
    for name, (_, words) in FORMS.items():
        adds[name] = forms.add_parser(name, help=words, description=words).add_argument
        adds[name]("file", type=pathlib.Path, metavar="FILE", help="JSON of --benchmark_out")
        adds[name]("-o", dest="output", type=pathlib.Path, metavar="OUT", required=True)
    for name in FORMS.keys() - {"counters"}:
        adds[name](
            "--by",
            choices=TIMES,
            default=MEAN,
            help="time of a repetition: its mean (real_time, the default), its median sample (p50_us) or its fastest "
            "sample (min_us). Interference only slows a sample. Rows without samples keep the mean",
        )
    parser.set_defaults(by=MEAN)
    adds["counters"]("--counter", required=True, help="a field of docs/results.md")
    for name in ("bencher", "openmetrics"):
        adds[name](
            "--counter", action="append", default=[], help="a field to add to the time; repeatable"
        )
    for name in ("lnt", "openmetrics"):
        adds[name]("--machine", help="name of the machine (CPU, number of CPUs, GPU)")
    adds["lnt"]("--order", help="key by which LNT sorts runs (date and commit)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
