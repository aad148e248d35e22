"""The built program and the files it writes, for the tests beside this file."""

import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("FATHOM_BENCH", str(ROOT / "build/default/fathom_bench"))

# A row that takes milliseconds and one second with everything around it.
QUICK = ["--fathom_threads=1", "--benchmark_min_time=0.01"]
ONE_ROW = [*QUICK, "--benchmark_filter=^op/matmul/vgg/fc8/forward/.*backend:torch"]


def starts(program):
    """A function that runs it and gives the finished process, with what it printed as text."""

    def started(*arguments, **options):
        command = [program, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)

    return started


run = starts(PROGRAM)
ab, export, gate, history, report = (
    starts(ROOT / "results" / name) for name in ("ab", "export", "gate", "history", "report")
)


def refusals(name):
    """A function that gives the one line in which a program of results/ refuses its input."""

    def refused(*arguments):
        result = starts(ROOT / "results" / name)(*arguments)
        assert result.returncode == 2, result.stdout + result.stderr
        assert result.stdout == "" and len(result.stderr.splitlines()) == 1, result.stderr
        assert result.stderr.startswith(f"{name}: ") and "expected" in result.stderr
        return result.stderr

    return refused


def strict_json(text):
    """Like the parsers of dashboards: no NaN, no Infinity, no key twice."""

    def refuse(word):
        raise ValueError(f"{word} is not JSON")

    def pairs(items):
        keys = [key for key, _ in items]
        assert len(keys) == len(set(keys)), f"a key twice in {keys}"
        return dict(items)

    return json.loads(text, parse_constant=refuse, object_pairs_hook=pairs)


def read_json(path):
    return strict_json(pathlib.Path(path).read_text())
