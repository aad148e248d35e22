"""results/gate on its command line: verdicts, exit codes, what it refuses, and what it writes."""

import json
import random

import made_up_run as made_up
import pytest
from program import gate, refusals, strict_json

SUFFIX = "/process_time/real_time"
VGG = made_up.step_name("vgg")
MEMNET = made_up.step_name("memnet")
# 70 of vgg's 100 ms are convolutions: a seventh more of them is a tenth more of the step.
SLOW_CONVOLUTION = {f"{VGG}{SUFFIX}": 1.1, f"{VGG}/op:conv2d": 1 + 1 / 7}


def repeated(rows, seed, slower=None, repetitions=9, between=0.0):
    """Repetitions of rows: times waver by 1 %, whole rows by `between`; `slower` has factors by a start of names."""
    draw = random.Random(seed)
    for row in rows:
        whole = 1 + draw.gauss(0, between)
        for start, factor in (slower or {}).items():
            whole *= factor if row["name"].startswith(start) else 1
        factors = [whole * (1 + abs(draw.gauss(0, 0.01))) for _ in range(repetitions)]
        yield from made_up.repeated([row], factors)


def run(path, seed, slower=None, repetitions=9, between=0.0, workloads=("vgg", "memnet"), **more):
    document = made_up.document(workloads=workloads, **more)
    rows = repeated(document["benchmarks"], seed, slower, repetitions, between)
    return made_up.write(path, document | {"benchmarks": list(rows)})


@pytest.fixture
def base(tmp_path):
    return run(tmp_path / "base.json", 1)


def verdict(*arguments):
    """The exit code and the JSON."""
    path = arguments[1].parent / "verdict.json"
    result = gate(*arguments, f"--json={path}")
    assert result.returncode in (0, 1), result.stderr
    return result.returncode, strict_json(path.read_text())


def classes(found):
    return {row["name"].removesuffix(SUFFIX): row["class"] for row in found["rows"]}


def row_of(found, name):
    (row,) = [row for row in found["rows"] if row["name"] == name + SUFFIX]
    return row


refused = refusals("gate")


# --- verdicts


def test_the_same_program_passes(tmp_path, base):
    code, found = verdict(base, run(tmp_path / "new.json", 2))
    assert code == 0 and found["verdict"] == "no regression" and not found["regressed"]
    assert set(classes(found).values()) == {"SAME"}


def test_a_slower_step_fails_with_its_size(tmp_path, base):
    code, found = verdict(base, run(tmp_path / "new.json", 2, SLOW_CONVOLUTION))
    assert code == 1 and found["verdict"] == "regression: 1 row slower"
    row = row_of(found, VGG)
    assert row["class"] == "SLOWER" and row["fails"]
    assert 8 < row["change_low_pct"] < 10 < row["change_high_pct"] < 12


def test_the_op_that_did_it_is_named(tmp_path, base):
    _, found = verdict(base, run(tmp_path / "new.json", 2, SLOW_CONVOLUTION))
    (cause,) = row_of(found, VGG)["causes"]
    assert cause["op_type"] == "conv2d" and cause["moved"]
    assert cause["share"] == pytest.approx(1, abs=0.1)
    slower = [name for name, one in classes(found).items() if one == "SLOWER"]
    assert slower == [VGG, f"{VGG}/op:conv2d"], "and no other"


def test_a_faster_step_passes(tmp_path, base):
    code, found = verdict(base, run(tmp_path / "new.json", 2, {VGG: 0.9}))
    assert code == 0 and classes(found)[VGG] == "FASTER"


def test_small_changes_never_count(tmp_path, base):
    new = run(tmp_path / "new.json", 2, {VGG: 1.04})
    assert verdict(base, new)[0] == 1
    code, found = verdict(base, new, "--smallest=8", "--same=20")
    assert code == 0 and classes(found)[VGG] == "SAME"


def test_what_repetitions_cannot_tell_is_ambiguous(tmp_path):
    document = made_up.document(workloads=("vgg",), op_rows=False, profile=False)
    draw = random.Random(1)
    files = []
    for name in ("base", "new"):
        rows = []
        for row in document["benchmarks"]:
            for index in range(9):
                us = row["real_time"] * draw.uniform(1, 2)
                rows.append(row | {"real_time": us, "repetitions": 9, "repetition_index": index})
        files.append(made_up.write(tmp_path / f"{name}.json", document | {"benchmarks": rows}))
    code, found = verdict(*files)
    assert code == 0 and set(classes(found).values()) == {"AMBIGUOUS"}


def test_ops_of_a_step_that_did_not_move_are_not_looked_at(tmp_path, base):
    slower = {f"{MEMNET}/op:mul": 2, "op/mul/memnet": 2}
    code, found = verdict(base, run(tmp_path / "new.json", 2, slower))
    assert code == 0 and set(classes(found).values()) == {"SAME"}
    assert f"{MEMNET}/op:mul{SUFFIX}" in found["not_looked_at"]


def test_ops_without_a_step_are_looked_at_first(tmp_path):
    ops = made_up.document(workloads=("vgg",), modes=())
    files = [
        made_up.write(
            tmp_path / name, ops | {"benchmarks": list(repeated(ops["benchmarks"], *how))}
        )
        for name, how in {"a.json": (1,), "b.json": (2, {"op/relu/vgg/first": 1.2})}.items()
    ]
    code, found = verdict(*files)
    assert code == 1
    (slow,) = [name for name, one in classes(found).items() if one == "SLOWER"]
    assert slow.startswith("op/relu/vgg/first")


def test_any_google_benchmark_is_compared(tmp_path):
    rows = [made_up.row(f"BM_Sort/{n}", 5 * n) | {"time_unit": "ns"} for n in (10, 20)]
    document = {"context": {}, "benchmarks": []}
    files = [
        made_up.write(tmp_path / name, document | {"benchmarks": list(repeated(rows, *how))})
        for name, how in {"a.json": (1,), "b.json": (2, {"BM_Sort/20": 1.2})}.items()
    ]
    code, found = verdict(*files)
    assert code == 1 and classes(found) == {"BM_Sort/10": "SAME", "BM_Sort/20": "SLOWER"}
    assert row_of(found, "BM_Sort/20")["base_us"] == pytest.approx(0.1, rel=0.05)


def test_the_fastest_sample_counts_unless_told_otherwise(tmp_path):
    """Noise that only ever adds: the means waver by half, the fastest samples do not."""
    draw = random.Random(1)
    files = []
    for name, factor in (("base", 1), ("new", 1.1)):
        rows = []
        for row in repeated([made_up.row(VGG, 100)], 1):
            least = factor * 100 * draw.uniform(1, 1.01)
            rows.append(row | {"real_time": least * draw.uniform(1, 1.5), "min_us": least})
        files.append(tmp_path / f"{name}.json")
        made_up.write(files[-1], {"context": {}, "benchmarks": rows})
    code, found = verdict(*files)
    assert code == 1 and row_of(found, VGG)["base_us"] == pytest.approx(100, abs=1)
    code, found = verdict(*files, "--by=real_time")
    assert code == 0 and classes(found)[VGG] == "AMBIGUOUS"


# --- noise


def test_a_run_of_the_same_program_sets_the_floor(tmp_path, base):
    new = run(tmp_path / "new.json", 2, between=0.05)
    assert verdict(base, new)[0] == 1, "processes differ by more than their repetitions tell"
    again = run(tmp_path / "aa.json", 3, between=0.05)
    code, found = verdict(base, new, f"--noise={again}")
    assert code == 0
    assert any("between runs of one program" in note for note in found["notes"])


def test_the_floor_hides_no_large_change(tmp_path):
    workloads = {"workloads": ("vgg", "memnet", "alexnet", "seq2seq", "speech")}
    base, again = (run(tmp_path / f"{n}.json", n, between=0.01, **workloads) for n in (1, 2))
    new = run(tmp_path / "new.json", 3, {VGG + SUFFIX: 1.3}, between=0.01, **workloads)
    code, found = verdict(base, new, f"--noise={again}")
    assert code == 1 and [row["name"] for row in found["rows"] if row["fails"]] == [VGG + SUFFIX]


def test_turns_take_drift_out(tmp_path):
    """Rounds of results/ab: the machine becomes 30 % slower half way, the new program is 10 % slower."""
    document = made_up.document(
        workloads=("memnet",), modes=("train",), op_rows=False, profile=False
    )
    (row,) = document["benchmarks"]
    draw = random.Random(1)
    files = []
    for name, factor in (("base", 1), ("new", 1.1)):
        rows = []
        for index in range(9):
            us = row["real_time"] * factor * (1.3 if index > 5 else 1) * draw.uniform(1, 1.01)
            rows.append(row | {"real_time": us, "repetitions": 9, "repetition_index": index})
        files.append((tmp_path / f"{name}.json", document | {"benchmarks": rows}))
    apart = [made_up.write(path, made) for path, made in files]
    assert verdict(*apart)[0] == 0
    for _, made in files:
        made["context"] |= {"ab_id": "1", "ab_block": "3"}
    together = [made_up.write(path, made) for path, made in files]
    code, found = verdict(*together)
    assert code == 1 and row_of(found, MEMNET)["change_pct"] == pytest.approx(10, abs=1)


def test_causes_are_of_the_same_rounds(tmp_path):
    # The machine becomes four times slower, for the base not in the very same rounds: its median is of fast ones.
    document = made_up.document(workloads=("vgg",), modes=("train",), op_rows=False)
    document["context"] |= {"ab_id": "1", "ab_block": "3"}
    draw = random.Random(1)
    files = []
    for name, slower, drift in (
        ("base", {}, [1] * 7 + [4] * 2 + [1] + [4] * 2),
        ("new", SLOW_CONVOLUTION, [1] * 6 + [4] * 6),
    ):
        rows = []
        for row in document["benchmarks"]:
            own = next((by for start, by in slower.items() if row["name"].startswith(start)), 1)
            rows += made_up.repeated([row], [own * by * draw.uniform(1, 1.01) for by in drift])
        files.append(made_up.write(tmp_path / f"{name}.json", document | {"benchmarks": rows}))
    _, found = verdict(*files)
    row = row_of(found, VGG)
    assert row["class"] == "SLOWER" and row["change_pct"] == pytest.approx(10, abs=1)
    assert row["new_us"] / row["base_us"] == pytest.approx(1 + row["change_pct"] / 100)
    (cause,) = row["causes"]
    assert cause["op_type"] == "conv2d" and cause["share"] == pytest.approx(1, abs=0.1)


# --- rows that only one run has


def test_vanished_rows_fail_with_their_reason(tmp_path, base):
    new = run(tmp_path / "new.json", 2, workloads=("vgg",))
    reason = {"name": MEMNET + SUFFIX, "repetition": 0, "reason": "loss is not finite"}
    (tmp_path / "new.json.errors.jsonl").write_text(json.dumps(reason) + "\n")
    result = gate(base, new)
    assert result.returncode == 1
    assert f"VANISHED  {MEMNET}: loss is not finite" in result.stdout.splitlines()
    assert "rows vanished" in result.stdout.splitlines()[-1]


def test_op_types_that_a_step_no_longer_runs_do_not_fail(tmp_path, base):
    document = json.loads(run(tmp_path / "new.json", 2).read_text())
    document["benchmarks"] = [
        row for row in document["benchmarks"] if not row["name"].startswith(f"{VGG}/op:relu")
    ]
    assert verdict(base, made_up.write(tmp_path / "new.json", document))[0] == 0


def test_new_rows_are_named_and_pass(tmp_path, base):
    code, found = verdict(
        base, run(tmp_path / "new.json", 2, workloads=("vgg", "memnet", "speech"))
    )
    assert code == 0
    assert made_up.step_name("speech") + SUFFIX in found["added"]


def test_a_filter_leaves_rows_out_of_both(tmp_path, base):
    new = run(tmp_path / "new.json", 2, {VGG: 1.2}, workloads=("vgg",))
    code, found = verdict(base, new, "--filter=^vgg/infer/")
    assert code == 0 and found["vanished"] == []
    assert set(classes(found)) == {made_up.step_name("vgg", "infer")}


# --- what it says


def test_few_repetitions_are_said(tmp_path):
    files = [run(tmp_path / f"{n}.json", n, repetitions=5) for n in (1, 2)]
    assert (
        "5 repetitions at the least, 9 advised (--benchmark_repetitions=9)" in gate(*files).stdout
    )


@pytest.mark.parametrize("key", ["libtorch", "fathom_mkl", "openmp"])
def test_other_settings_are_said(tmp_path, base, key):
    new = run(tmp_path / "new.json", 2, **{key: "other"})
    assert f"note: {key} differs: " in gate(base, new).stdout


def test_markdown_holds_the_verdict(tmp_path, base):
    new = run(tmp_path / "new.json", 2, SLOW_CONVOLUTION)
    assert gate(base, new, f"--markdown={tmp_path}/comment.md").returncode == 1
    text = (tmp_path / "comment.md").read_text()
    assert text.startswith("**regression: 1 row slower**\n")
    assert f"| SLOWER | `{VGG}` | " in text and f"- `{VGG}`: conv2d explains " in text
    widths = {line.count("|") for line in text.splitlines() if line.startswith("|")}
    assert widths == {7}, "a table of six columns"


def test_rows_that_did_not_move_are_shown_when_asked_for(tmp_path, base):
    new = run(tmp_path / "new.json", 2)
    assert f"SAME      {VGG}  " not in gate(base, new).stdout
    assert f"SAME      {VGG}  " in gate(base, new, "--all").stdout


# --- what it refuses


@pytest.mark.parametrize("key", ["cpu", "gpu", "num_cpus"])
def test_two_machines_are_refused(tmp_path, base, key):
    other = json.loads(base.read_text())
    other["context"][key] = "other"
    line = refused(base, made_up.write(tmp_path / "new.json", other))
    assert f"new.json: {key} is other, in " in line


def test_too_few_repetitions_are_refused(tmp_path):
    files = [run(tmp_path / f"{n}.json", n, repetitions=3) for n in (1, 2)]
    assert "too few repetitions to tell any change" in refused(*files)


def test_runs_without_a_common_row_are_refused(tmp_path, base):
    line = refused(base, run(tmp_path / "new.json", 2, workloads=("speech",)))
    assert "has no row of" in line


def test_broken_files_are_refused(tmp_path, base):
    text = base.read_text()
    timeless = text.replace('"real_time"', '"reel_time"', 1)
    broken = {
        "cut.json": (text[: len(text) // 2], "is cut off at line"),
        "foreign.json": ("[1, 2]", "a list at the top"),
        "empty.json": (json.dumps({"context": {}, "benchmarks": []}), "no measured row"),
        "nan.json": (text.replace('"iterations": 5', '"iterations": NaN', 1), "is not JSON"),
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


def test_an_output_that_cannot_be_written_is_refused(tmp_path, base):
    new = run(tmp_path / "new.json", 2)
    assert "nowhere" in refused(base, new, f"--json={tmp_path}/nowhere/verdict.json")


@pytest.mark.parametrize("flag", ["--alpha=2", "--smallest=much", "--filter=(", "--nois=x.json"])
def test_a_mistyped_flag_is_two(base, flag):
    result = gate(base, base, flag)
    assert result.returncode == 2 and flag.split("=")[0] in result.stderr


def test_the_help_says_the_exit_codes():
    result = gate("--help")
    assert result.returncode == 0 and "0 no regression, 1 a row is slower" in result.stdout
