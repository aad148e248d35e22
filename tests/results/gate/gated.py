"""Made-up noisy files of results/ab and their results from results/gate, for the tests in this folder."""

import random

import made_up_run as made_up
import pytest
from program import gate, strict_json

SUFFIX = "/process_time/real_time"
ALTERNATING = {"ab_id": "1", "ab_block": "3"}  # the context of files of results/ab
SINGLE = {"ab_id": "", "ab_block": ""}  # of a run of its own
VGG = made_up.step_name("vgg")
MEMNET = made_up.step_name("memnet")
# Convolutions are 70 of the 100 ms of vgg. A seventh more in them is a tenth more in the step.
SLOW_CONVOLUTION = {f"{VGG}{SUFFIX}": 1.1, f"{VGG}/op:conv2d": 1 + 1 / 7}


def repeated(rows, seed, slower=None, repetitions=9, between=0.0):
    """Repetitions with 1 % noise, and noise of `between` per row. `slower` holds factors by prefix of the name."""
    draw = random.Random(seed)
    for row in rows:
        row_factor = 1 + draw.gauss(0, between)
        for start, factor in (slower or {}).items():
            row_factor *= factor if row["name"].startswith(start) else 1
        factors = [row_factor * (1 + abs(draw.gauss(0, 0.01))) for _ in range(repetitions)]
        yield from made_up.repeated([row], factors)


def run(path, seed, slower=None, repetitions=9, between=0.0, workloads=("vgg", "memnet"), **more):
    document = made_up.document(workloads=workloads, **ALTERNATING | more)
    rows = repeated(document["benchmarks"], seed, slower, repetitions, between)
    return made_up.write(path, document | {"benchmarks": list(rows)})


@pytest.fixture
def base(tmp_path):
    return run(tmp_path / "base.json", 1)


def verdict(*arguments):
    """The exit code and the JSON of results/gate. Fails on an error."""
    path = arguments[1].parent / "verdict.json"
    result = gate(*arguments, f"--json={path}")
    assert result.returncode in (0, 1, 3), result.stderr
    found = strict_json(path.read_text())
    assert found["exit_code"] == result.returncode
    return result.returncode, found


def classes(found):
    return {row["name"].removesuffix(SUFFIX): row["class"] for row in found["rows"]}


def row_of(found, name):
    (row,) = [row for row in found["rows"] if row["name"] == name + SUFFIX]
    return row
