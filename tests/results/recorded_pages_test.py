"""Numbers of pages are those of the recorded runs that the pages name."""

import re
import statistics

import pytest
from program import ROOT

from fathom_runs.benchmarks import read
from fathom_runs.names import kind, tokens

RUNS = ROOT / "results/runs"
EPYC = RUNS / "amd-epyc-zen5-2-cores"


def section(page, heading):
    text = (ROOT / page).read_text()
    return re.split(rf"^#+ {re.escape(heading)}\n", text, flags=re.M)[1].partition("\n#")[0]


def table(text):
    """The cells of each row of the first table, without its head."""
    lines = re.findall(r"^\|.*\|$", text, re.M)[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def steps(*files):
    """Times of the repetitions by workload, mode, batch and backend, of fp32 steps on two threads."""
    found = {}
    for benchmark in (one for file in files for one in read(file).measured):
        parts = tokens(benchmark.name)
        if kind(benchmark.name) == "step" and (parts["threads"], parts["precision"]) == (
            "2",
            "fp32",
        ):
            key = (*benchmark.name.split("/")[:2], int(parts["batch"]), parts["backend"])
            found[key] = benchmark.times_us
    return found


def tuned_shares(*files):
    """Share of LibTorch's time that a tuned step takes, by workload and mode, at the largest batch."""
    times = {key: statistics.median(us) for key, us in steps(*files).items()}
    return {
        (workload, mode): us / times[workload, mode, batch, "torch"]
        for (workload, mode, batch, backend), us in sorted(times.items())
        if backend == "tuned"
    }


SETS = [EPYC / f"{name}.json.gz" for name in ("kernel-sets", "speech-kernel-sets")]
TBD_SETS = [EPYC / "tbd-kernel-sets.json.gz"]


def test_the_findings_have_the_shares_of_tuned_steps():
    shares = tuned_shares(*SETS, *TBD_SETS, EPYC / "gpt2.json.gz")
    rows = {
        workload: cells
        for workload, *cells in table(
            section("results/findings.md", "The fastest kernels in whole steps")
        )
    }
    written = {
        (workload, mode): cell
        for workload, cells in rows.items()
        for mode, cell in zip(("train", "infer"), cells)
        if cell
    }
    assert written == {key: f"{share:.2f}" for key, share in shares.items()}


@pytest.mark.parametrize("words, files", [("Fathom's", SETS), ("TBD's", TBD_SETS)])
def test_the_findings_have_their_geometric_means(words, files):
    text = " ".join(section("results/findings.md", "The fastest kernels in whole steps").split())
    mean = statistics.geometric_mean(tuned_shares(*files).values())
    assert f"{mean:.2f} over {words} sixteen" in text
    kernels = section("docs/kernels.md", "How much faster")
    assert words != "Fathom's" or f"takes {mean:.2f} of the time" in kernels


def test_measuring_md_has_the_shares_of_malloc():
    stock, tuned = (steps(EPYC / f"malloc-{malloc}.json.gz") for malloc in ("stock", "tuned"))
    for workload, *cells in table(section("docs/measuring.md", "Who gains what")):
        for batch, cell in zip((8, 32), cells):
            key = (workload, "train", batch, "torch")
            assert cell == f"{tuned[key][0] / stock[key][0]:.2f}"


def test_the_readme_has_the_rows_of_a_recorded_run():
    found = read(RUNS / "intel-xeon-amx-2-cores/readme.json.gz").measured
    row = r"^(\S+) +(\d) +(\w+) +([\d.]+) (us|ms)\*? +([\d.]+)"
    written = re.findall(row, (ROOT / "README.md").read_text(), re.M)
    assert len(written) == len(found) == 6
    for benchmark, (name, threads, backend, time, unit, cores) in zip(found, written):
        parts = tokens(benchmark.name)
        assert benchmark.name.startswith(f"{name}/device:cpu/threads:{threads}/")
        assert parts["backend"] == backend
        us = benchmark.us if unit == "us" else benchmark.us / 1000
        assert f"{us:.4g}" == time and f"{benchmark.cpu_us / benchmark.us:.2f}" == cores
