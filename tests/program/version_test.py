"""--version."""

import re

from program import ONE_ROW, read_json, run


def test_the_version_is_that_of_the_context(tmp_path):
    out = tmp_path / "out.json"
    assert run(*ONE_ROW, f"--benchmark_out={out}").returncode == 0
    context = read_json(out)["context"]
    result = run("--version")
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[:3] == [
        f"fathom_bench {context['fathom_version']}",
        f"commit {context['git_commit']}",
        f"LibTorch {context['libtorch']}",
    ]
    assert lines[3] == f"oneDNN {context.get('onednn', 'none')}"
    assert re.match(r"CUDA(:| \d)", lines[4]) and len(lines) == 5


def test_a_mistyped_version_is_named():
    assert "did you mean --version?" in run("--versoin").stderr
