"""The command line of results/gate: output, errors and files."""

import json

import made_up_run as made_up
import pytest
from gated import SLOW_CONVOLUTION, VGG, base, run
from program import gate, refusals

refused = refusals("gate")


# --- output


def test_few_rounds_give_a_note(tmp_path):
    files = [run(tmp_path / f"{n}.json", n, repetitions=5) for n in (1, 2)]
    assert "rows with only 5 repetitions, 9 advised (--rounds=9)" in gate(*files).stdout


@pytest.mark.parametrize("key", ["libtorch", "fathom_mkl", "openmp", *made_up.GPU_SETTINGS])
def test_different_settings_give_a_note(tmp_path, base, key):
    new = run(tmp_path / "new.json", 2, **{key: "other"})
    assert f"note: {key} differs: " in gate(base, new).stdout


def test_disturbed_rows_give_a_note(tmp_path, base):
    document = json.loads(run(tmp_path / "new.json", 2).read_text())
    for row in document["benchmarks"]:
        row["disturbed_steps"] = row["iterations"] if row["name"].startswith(VGG) else 0
    new = made_up.write(tmp_path / "new.json", document)
    assert f"note: {new}: 1 of 4 steps was disturbed: " in gate(base, new).stdout
    assert "was disturbed" not in gate(base, new, "--filter=^memnet/").stdout


def test_markdown_holds_the_verdict(tmp_path, base):
    new = run(tmp_path / "new.json", 2, SLOW_CONVOLUTION)
    assert gate(base, new, f"--markdown={tmp_path}/comment.md").returncode == 1
    text = (tmp_path / "comment.md").read_text()
    assert text.startswith("**regression: 1 row slower**\n")
    assert f"| SLOWER | `{VGG}` | " in text and f"- `{VGG}`: conv2d explains " in text
    widths = {line.count("|") for line in text.splitlines() if line.startswith("|")}
    assert widths == {7}, "a table of six columns"


def test_all_shows_unchanged_rows(tmp_path, base):
    new = run(tmp_path / "new.json", 2)
    assert f"SAME      {VGG}  " not in gate(base, new).stdout
    assert f"SAME      {VGG}  " in gate(base, new, "--all").stdout


# --- errors


@pytest.mark.parametrize("key", ["cpu", "gpu", "num_cpus"])
def test_two_machines_are_refused(tmp_path, base, key):
    other = json.loads(base.read_text())
    other["context"][key] = "other"
    line = refused(base, made_up.write(tmp_path / "new.json", other))
    assert f"new.json: {key} is other, in " in line


def test_too_few_rounds_are_refused(tmp_path):
    files = [run(tmp_path / f"{n}.json", n, repetitions=3) for n in (1, 2)]
    for more in ([], ["--alpha=0.3"]):  # p can be 0.1, but there is no interval of 95 %
        line = refused(*files, *more)
        assert "too few rounds to detect any change, expected --rounds=9 in both runs" in line


def test_runs_without_a_common_row_are_refused(tmp_path, base):
    line = refused(base, run(tmp_path / "new.json", 2, workloads=("speech",)))
    assert "has no row of" in line


def test_broken_files_are_refused(tmp_path, base):
    text = base.read_text()
    timeless = text.replace('"real_time"', '"reel_time"', 1)
    broken = {
        "cut.json": (text[: len(text) // 2], "is truncated at line"),
        "foreign.json": ("[1, 2]", "a list at the top"),
        "empty.json": (json.dumps({"context": {}, "benchmarks": []}), "no measured row"),
        "above.json": ("Run on (8 X 3000 MHz CPU s)\n" + text, "found 'Run on (8 X"),
        "nameless.json": (text.replace('"run_name"', '"was_name"'), "as of Google Benchmark 1.4"),
        "timeless.json": (timeless, "real_time of"),
    }
    for name, (made, found) in broken.items():
        (tmp_path / name).write_text(made)
        assert found in refused(base, tmp_path / name), name
    assert "No such file" in refused(base, tmp_path / "missing.json")


def test_a_broken_errors_file_is_refused(tmp_path, base):
    new = run(tmp_path / "new.json", 2)
    (tmp_path / "new.json.errors.jsonl").write_text("out of disk")
    assert "new.json.errors.jsonl: line 1 is 'out of disk'" in refused(base, new)


@pytest.mark.parametrize("index", [None, -1, 1000, "first"])
def test_a_round_that_is_none_is_refused(tmp_path, index):
    document = json.loads(run(tmp_path / "a.json", 1, ab_id="1", ab_block="3").read_text())
    row = document["benchmarks"][0]
    row.pop("repetition_index") if index is None else row.update(repetition_index=index)
    file = made_up.write(tmp_path / "a.json", document)
    line = refused(file, file)
    assert f"{file}: repetition_index of {VGG}" in line and "a round from 0 to 999" in line


def test_an_output_that_cannot_be_written_is_refused(tmp_path, base):
    new = run(tmp_path / "new.json", 2)
    assert "nowhere" in refused(base, new, f"--json={tmp_path}/nowhere/verdict.json")


def test_an_output_that_is_an_input_is_refused(tmp_path, base):
    new, again = (run(tmp_path / f"{name}.json", 2) for name in ("new", "again"))
    before = [path.read_bytes() for path in (base, new, again)]
    for option in ("--json", "--markdown"):
        for path in (base, new, again):
            line = refused(base, new, f"--noise={again}", f"{option}={path}")
            assert f"{path}: is an input and the output, expected another {option}" in line
        line = refused(base, new, f"{option}={new}.errors.jsonl")
        assert f"{new}.errors.jsonl: belongs to {new}, expected another {option}" in line
    assert [path.read_bytes() for path in (base, new, again)] == before


@pytest.mark.parametrize("flag", ["--alpha=2", "--smallest=much", "--filter=(", "--nois=x.json"])
def test_a_wrong_flag_exits_with_2(base, flag):
    result = gate(base, base, flag)
    assert result.returncode == 2 and flag.split("=")[0] in result.stderr


def test_the_help_lists_the_exit_codes():
    result = gate("--help")
    assert result.returncode == 0 and "0 no regression, 1 a row is slower" in result.stdout
