"""--fathom_explain on the fastest step: the table, its sums and the JSON agree and add up."""

import math
import re

import pytest

from program import QUICK, read_json, run, strict_json

STEP = "memnet/infer"
EXPLAIN = [*QUICK, f"--fathom_explain={STEP}"]
SUFFIX = "/process_time/real_time"


@pytest.fixture(scope="module")
def explained(tmp_path_factory):
    out = tmp_path_factory.mktemp("explain") / "out.json"
    result = run(*EXPLAIN, f"--benchmark_out={out}")
    assert result.returncode == 0, result.stderr
    (explanation,) = read_json(f"{out}.explain.json")["explanations"]
    return result.stdout, explanation, read_json(out)["benchmarks"]


def near(value):
    return pytest.approx(value, rel=1e-6, abs=1e-6)


def test_the_rows_are_the_step_and_its_ops(explained):
    stdout, explanation, rows = explained
    names = [row["name"] for row in rows]
    assert names[0].startswith(f"{STEP}/device:cpu/threads:1/")
    assert all(name.startswith("op/") and "/memnet/" in name for name in names[1:])
    assert all(name in stdout for name in names)
    layers = {
        (op["type"], op["layer"], op["pass"]) for line in explanation["lines"] for op in line["ops"]
    }
    assert layers == {(parts[1], parts[3], parts[4]) for parts in (n.split("/") for n in names[1:])}


def test_the_profiled_step_adds_up(explained):
    _, explanation, _ = explained
    assert (explanation["step"], explanation["threads"]) == (STEP, 1)
    in_steps = [line.get("in_step_us") for line in explanation["lines"]]
    assert None not in in_steps, "the step runs every recorded shape"
    assert explanation["in_step_us"] == near(sum(in_steps))
    assert explanation["between_us"] + explanation["without_rows_us"] == near(
        sum(part["in_step_us"] for part in explanation["unclaimed"])
    )
    assert explanation["profiled_step_us"] == near(
        explanation["in_step_us"] + explanation["between_us"] + explanation["without_rows_us"]
    )


def test_times_of_ops_are_those_of_their_rows(explained):
    """Rows that were measured again have a better time in the explanation than in --benchmark_out."""
    _, explanation, rows = explained
    separate = {row["name"]: row for row in rows}
    again = explanation["measured_again"]
    assert {name + SUFFIX for name in again} <= set(separate)
    total = 0
    for line in explanation["lines"]:
        for op in line["ops"]:
            start = f"op/{op['type']}/memnet/{op['layer']}/{op['pass']}/"
            for backend, us in op["hot_us"].items():
                (row,) = [
                    row
                    for name, row in separate.items()
                    if name.startswith(start) and f"/cache:hot/backend:{backend}/" in name
                ]
                if row["name"].removesuffix(SUFFIX) not in again:
                    assert us == near(row.get("p50_us", us))
            for backend in op["hot_us"]:
                row = f"/cache:cold/backend:{backend}/"
                has_cold = any(name.startswith(start) and row in name for name in separate)
                assert (backend in op.get("cold_us", {})) == has_cold
            total += op["count"] * op["hot_us"][op["backend"]]
    assert explanation["hot_us"] == near(total)


def test_the_table_agrees_with_the_json(explained):
    stdout, explanation, _ = explained
    text = stdout[stdout.index(f"Where the time of {STEP} goes: cpu, 1 thread, fp32") :]
    assert text.isascii()
    lines = text.splitlines()
    for what, key in (("step (timed median)", "step_us"), ("ops in step", "in_step_us")):
        (line,) = [line for line in lines if line.startswith(what + "  ")]
        ms = float(line[len(what) :].split()[0])
        assert math.isclose(ms, explanation[key] / 1e3, abs_tol=0.001), line
    for line in explanation["lines"]:
        op = line["ops"][0]
        assert f"\n{op['type']}/{op['layer']}/" in text
    warnings = re.findall(r"^Warning: (.*)\.$", text, re.MULTILINE)
    assert warnings == explanation["warnings"]
    found = re.findall(r"^  \d\. .*$", text[text.index("What would save most:") :], re.MULTILINE)
    assert len(found) == len(explanation["findings"]) <= 3
    for line, finding in zip(found, explanation["findings"]):
        assert finding["words"] in line and finding["saving_us"] > 0
    savings = [finding["saving_us"] for finding in explanation["findings"]]
    assert savings == sorted(savings, reverse=True)
    assert ("no further saving" in text) == (len(found) in (1, 2))


def test_stdout_stays_json_where_it_is_asked_for():
    strict_json(run(*EXPLAIN, "--benchmark_format=json").stdout)


def test_a_list_of_rows_explains_nothing():
    result = run(*EXPLAIN, "--benchmark_list_tests")
    assert result.returncode == 0 and "Where the time" not in result.stdout
    assert result.stdout.startswith(STEP)
