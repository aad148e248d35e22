"""Names are an interface: whoever changes one changes tests/names.txt and says so in results/README.md."""

import re

from program import ROOT, run


def test_names_are_the_committed_ones():
    listed = run(
        "--benchmark_list_tests",
        "--fathom_device=cpu",
        "--fathom_threads=1",
        "--fathom_precision=fp32,bf16",
    )
    assert listed.returncode == 0, listed.stderr
    names = listed.stdout.splitlines()
    committed = (ROOT / "tests/names.txt").read_text().splitlines()
    # A build without oneDNN, or a CPU on which it has no bf16.
    for rows in (re.compile("backend:onednn"), re.compile("precision:bf16.*backend:onednn")):
        if not any(map(rows.search, names)):
            committed = [name for name in committed if not rows.search(name)]
    assert names == committed


def test_names_fit_dashboards():
    for name in run("--benchmark_list_tests").stdout.splitlines():
        assert name.endswith("/process_time/real_time")
        assert len(name) <= 144, name
