"""results/gate: rows that only one of the two runs has."""

import json

import made_up_run as made_up
import pytest
from gated import MEMNET, SUFFIX, VGG, base, classes, run, verdict
from program import gate, refusals

refused = refusals("gate")


def test_vanished_rows_fail_the_gate_with_their_reason(tmp_path, base):
    new = run(tmp_path / "new.json", 2, workloads=("vgg",))
    reason = {"name": MEMNET + SUFFIX, "repetition": 0, "reason": "loss is not finite"}
    (tmp_path / "new.json.errors.jsonl").write_text(json.dumps(reason) + "\n")
    result = gate(base, new)
    assert result.returncode == 1
    assert f"VANISHED  {MEMNET}: loss is not finite" in result.stdout.splitlines()
    assert "rows vanished" in result.stdout.splitlines()[-1]


def failed(path):
    """Adds a repetition that failed to a row of the file, as other programs on Google Benchmark write it."""
    document = json.loads(path.read_text())
    entry = {"name": MEMNET + SUFFIX, "run_name": MEMNET + SUFFIX, "run_type": "iteration"}
    entry |= {"error_occurred": True, "error_message": "out of memory", "real_time": 0}
    document["benchmarks"].append(entry)
    return made_up.write(path, document)


def test_a_row_that_failed_in_the_new_run_fails_the_gate(tmp_path, base):
    code, found = verdict(base, failed(run(tmp_path / "new.json", 2)))
    assert code == 1 and found["regressed"] and found["verdict"] == "regression: 1 row failed"
    reason = {"name": MEMNET + SUFFIX, "reason": "out of memory", "fails": True}
    assert found["failed"] == [reason] and classes(found)[MEMNET] == "SAME"


def test_a_row_that_failed_in_both_runs_passes(tmp_path, base):
    code, found = verdict(failed(base), failed(run(tmp_path / "new.json", 2)))
    assert code == 0 and found["verdict"] == "no regression"
    assert [(one["name"], one["fails"]) for one in found["failed"]] == [(MEMNET + SUFFIX, False)]


@pytest.mark.parametrize(
    "before, words", [(False, "out of memory"), (True, "out of memory; in the base, too")]
)
def test_failed_rows_are_listed_with_their_reason(tmp_path, base, before, words):
    new = failed(run(tmp_path / "new.json", 2))
    result = gate(failed(base) if before else base, new, f"--markdown={tmp_path}/comment.md")
    line = f"FAILED    {MEMNET}: {words}"
    assert line in result.stdout.splitlines()
    assert f"- {line}" in (tmp_path / "comment.md").read_text().splitlines()


def test_op_types_that_a_step_no_longer_runs_do_not_fail_the_gate(tmp_path, base):
    document = json.loads(run(tmp_path / "new.json", 2).read_text())
    document["benchmarks"] = [
        row for row in document["benchmarks"] if not row["name"].startswith(f"{VGG}/op:relu")
    ]
    assert verdict(base, made_up.write(tmp_path / "new.json", document))[0] == 0


def test_new_rows_are_listed_and_pass(tmp_path, base):
    code, found = verdict(
        base, run(tmp_path / "new.json", 2, workloads=("vgg", "memnet", "speech"))
    )
    assert code == 0
    assert made_up.step_name("speech") + SUFFIX in found["added"]


def test_a_filter_applies_to_both_runs(tmp_path, base):
    new = run(tmp_path / "new.json", 2, {VGG: 1.2}, workloads=("vgg",))
    code, found = verdict(base, new, "--filter=^vgg/infer/")
    assert code == 0 and found["vanished"] == []
    assert set(classes(found)) == {made_up.step_name("vgg", "infer")}


def all_failed(path):
    """What is left of a run of which every row failed: fathom_bench writes no JSON without a row."""
    reasons = [
        {"name": one + SUFFIX, "repetition": 0, "reason": "no memory"} for one in (VGG, MEMNET)
    ]
    errors = path.with_name(path.name + ".errors.jsonl")
    errors.write_text("".join(json.dumps(one) + "\n" for one in reasons))
    return path


@pytest.mark.parametrize("chosen", [(), ("--filter=^vgg/train",)])
def test_a_run_of_which_every_row_failed_fails_the_gate(tmp_path, base, chosen):
    result = gate(base, all_failed(tmp_path / "new.json"), *chosen)
    assert result.returncode == 1, result.stderr
    assert f"VANISHED  {VGG}: no memory" in result.stdout.splitlines()
    assert result.stdout.splitlines()[-1].startswith("regression: ")


def test_a_base_or_noise_of_which_every_row_failed_is_refused(tmp_path, base):
    failing, new = all_failed(tmp_path / "failing.json"), run(tmp_path / "new.json", 2)
    for files in ([failing, new], [base, new, f"--noise={failing}"]):
        assert f"{failing}: no measured row, expected" in refused(*files)
