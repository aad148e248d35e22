"""results/gate: runs of a build are compared beside other runs of the base, which measure the noise."""

import gzip
import json
import os
import random
import re

import made_up_run as made_up
import numpy as np
import pytest
from gated import ALTERNATING, MEMNET, SINGLE, SUFFIX, VGG, classes, row_of, run
from program import refusals, strict_json

from fathom_gate.__main__ import main
from fathom_gate.causes import Cause
from fathom_gate.words import doubt_of

refused = refusals("gate")
MANY = {"workloads": ("vgg", "memnet", "alexnet", "seq2seq", "speech"), "op_rows": False} | SINGLE


def runs(tmp_path, names, between=0.01, **more):
    """Runs of one program. Rows differ by `between` from run to run."""
    return [
        run(tmp_path / f"{name}.json", seed, between=between, **MANY | more)
        for seed, name in enumerate(names, 1)
    ]


def verdict(base, new, *options):
    """The exit code and the JSON of the gate, in this process."""
    path = new.parent / "verdict.json"
    code = main([str(base), str(new), *options, f"--json={path}"])
    assert code != 2
    return code, strict_json(path.read_text())


def noise(files):
    return [f"--noise={path}" for path in files]


def test_two_runs_have_no_verdict(tmp_path):
    files = runs(tmp_path, ("base", "new"))
    code, found = verdict(*files)
    assert code == 3 and found["verdict"] == "no verdict: 10 of 10 rows undecided"
    assert set(classes(found).values()) == {"AMBIGUOUS"}
    assert found["error_rates"]["judged_by"] == "repetitions alone"
    (note,) = found["notes"]
    assert "cannot be judged" in note and re.search(r"SLOWER in \d+ % of comparisons", note)


def test_the_runs_of_the_base_bound_the_change_of_processes(tmp_path):
    base, *others = runs(tmp_path, "abcd", between=0.05)
    new = run(tmp_path / "new.json", 9, between=0.05, **MANY)
    code, found = verdict(base, new, *noise(others))
    assert code == 3 and not found["regressed"]
    assert any("equal runs of steps differ by " in note for note in found["notes"])


def test_a_slower_row_is_found_beside_four_runs_of_the_base(tmp_path):
    base, *others = runs(tmp_path, "abcd")
    new = run(tmp_path / "new.json", 9, {VGG + SUFFIX: 1.15}, between=0.01, **MANY)
    code, found = verdict(base, new, *noise(others))
    assert code == 1 and [row["name"] for row in found["rows"] if row["fails"]] == [VGG + SUFFIX]
    assert 10 < row_of(found, VGG)["change_pct"] < 20


def test_a_verdict_states_its_error_rates(tmp_path, capsys):
    base, *others, new = runs(tmp_path, ("base", "b", "c", "d", "new"), between=0.003)
    comment = tmp_path / "comment.md"
    _, found = verdict(base, new, *noise(others), f"--markdown={comment}")
    stated = found["error_rates"]
    assert stated["judged_by"] == "4 runs of the base"
    assert stated["false_slower_pct"] <= stated["worst_false_slower_pct"] <= 5
    assert stated["found_5_pct"] >= 60 and stated["found_90_pct"] >= 2
    for text in (capsys.readouterr().out, comment.read_text()):
        assert "error rate: of 1,000 made-up comparisons of 40 equal rows by 4 runs" in text
        assert f"90 % would find +{stated['found_90_pct']:.1f} %" in text


def test_one_option_names_several_runs(tmp_path):
    base, *others, new = runs(tmp_path, ("base", "b", "c", "new"))
    apart = verdict(base, new, *noise(others))[1]
    assert verdict(base, new, f"--noise={others[0]},{others[1]}")[1] == apart
    missing = f"--noise={others[0]},{tmp_path / 'lost.json'}"
    assert "lost.json: No such file" in refused(base, new, missing)


def test_a_noisy_row_has_its_own_noise(tmp_path):
    """memnet differs by 10 % between processes, the others by 1 %."""
    files = []
    for seed, name in enumerate(("base", "b", "c", "d", "new"), 1):
        path = run(tmp_path / f"{name}.json", seed, between=0.01, **MANY)
        document = json.loads(path.read_text())
        factor = [1, 0.9, 1.1, 1.05, 1.18][seed - 1]
        for row in document["benchmarks"]:
            row["real_time"] *= factor if row["name"].startswith(MEMNET) else 1
        files.append(made_up.write(path, document))
    base, *others, new = files
    _, found = verdict(base, new, *noise(others))
    limits = {name: row_of(found, name)["min_change_pct"] for name in (MEMNET, VGG)}
    assert classes(found)[MEMNET] == "AMBIGUOUS" and limits[MEMNET] > 1.5 * limits[VGG]


def test_a_run_of_one_repetition_counts_as_others_do(tmp_path):
    """Of their repetitions the files keep the first."""
    base, *others = runs(tmp_path, "abcd")
    new = run(tmp_path / "new.json", 9, {VGG + SUFFIX: 1.3}, **MANY)
    for path in (base, *others, new):
        document = json.loads(path.read_text())
        rows = [row for row in document["benchmarks"] if row.get("repetition_index") == 0]
        made_up.write(path, document | {"benchmarks": rows})
    assert verdict(base, new, *noise(others))[0] == 1


def test_a_row_that_a_noise_file_lacks_is_judged_by_the_others(tmp_path):
    base, *others, new = runs(tmp_path, ("base", "b", "c", "d", "new"), between=0.001)
    fewer = run(tmp_path / "fewer.json", 7, between=0.001, **MANY | {"workloads": ("vgg",)})
    _, found = verdict(base, new, *noise([*others, fewer]))
    assert row_of(found, MEMNET)["class"] == "SAME"


def test_a_step_slower_with_all_others_is_told_from_the_machine(tmp_path):
    base, *others = runs(tmp_path, "abcd", between=0.001)
    new = run(tmp_path / "new.json", 9, {"": 1.1}, between=0.001, **MANY)
    code, found = verdict(base, new, *noise(others))
    assert code == 1 and any("the median row changed by +" in note for note in found["notes"])


@pytest.fixture
def one_noisy_row(tmp_path):
    """Files of results/ab in which one of ten rows has times from 1 to 2 and the others agree."""
    draw = random.Random(1)
    files = []
    for seed, name in enumerate("ab"):
        path = run(tmp_path / f"{name}.json", seed, **MANY | ALTERNATING | {"profile": False})
        document = json.loads(path.read_text())
        for row in document["benchmarks"]:
            is_noisy = row["name"].startswith(MEMNET)
            row["real_time"] *= draw.uniform(1, 2) if is_noisy else 1
        files.append(made_up.write(path, document))
    return files


@pytest.mark.parametrize("share, code", [("0.1", 3), ("0.11", 0), ("1", 0)])
def test_the_share_of_undecided_rows_is_the_users(one_noisy_row, share, code):
    found_code, found = verdict(*one_noisy_row, f"--undecided={share}")
    words = "no verdict: 1 of 10 rows" if code else "no regression; 1 of 10 rows"
    assert found_code == code and found["verdict"] == f"{words} undecided"


def test_a_regression_counts_more_than_undecided_rows(one_noisy_row):
    base, new = one_noisy_row
    document = json.loads(new.read_text())
    for row in document["benchmarks"]:
        row["real_time"] *= 1.3 if row["name"].startswith(VGG) else 1
    code, found = verdict(base, made_up.write(new, document), "--undecided=0.1")
    assert code == 1 and found["undecided"] == 1 and found["verdict"] == "regression: 1 row slower"


def test_an_ambiguous_row_says_how_many_rounds_would_decide_it(one_noisy_row):
    _, found = verdict(*one_noisy_row)
    more = row_of(found, MEMNET)["more_rounds"]
    assert more % 3 == 0 and "more_rounds" not in row_of(found, VGG)
    note = f"1 row AMBIGUOUS: about {more} more rounds would decide {MEMNET}"
    assert note in found["notes"]
    width = (row_of(found, MEMNET)["change_high_pct"] - row_of(found, MEMNET)["change_low_pct"]) / 2
    assert 9 * (width / 10) ** 2 < 9 + more < 9 * (width / 1.5) ** 2


# --- the same run twice


def copies(path):
    """Other names of a file: itself, a hard link, a symbolic link, a copy, and a packed copy."""
    folder = path.parent
    os.link(path, folder / "hard.json")
    (folder / "soft.json").symlink_to(path)
    (folder / "copy.json").write_bytes(path.read_bytes())
    (folder / "spaced.json").write_text(json.dumps(json.loads(path.read_text()), indent=4))
    (folder / "packed.json.gz").write_bytes(gzip.compress(path.read_bytes()))
    names = ("hard.json", "soft.json", "copy.json", "spaced.json", "packed.json.gz")
    return [path, *(folder / name for name in names)]


def test_a_run_is_not_compared_with_itself(tmp_path):
    base, new = runs(tmp_path, ("base", "new"))
    for copy in copies(base):
        for line in (refused(base, copy), refused(base, new, f"--noise={copy}")):
            assert line.startswith(f"gate: {copy}: is ") and f" as {base}, expected" in line


def test_a_run_is_not_its_own_noise(tmp_path):
    base, new, again = runs(tmp_path, ("base", "new", "again"))
    for files in ([new], [again, again]):
        assert f"{files[-1]}: is the same file as " in refused(base, new, *noise(files))


def test_a_copy_with_a_number_that_is_none_is_a_copy(tmp_path):
    base, copy = tmp_path / "base.json", tmp_path / "copy.json"
    text = run(base, 1, **MANY).read_text().replace('"params": 1000000.0', '"params": NaN')
    assert "NaN" in text
    base.write_text(text), copy.write_text(text)
    assert f"{copy}: is a copy of the same run" in refused(base, copy)


def test_aggregates_without_repetitions_are_named(tmp_path):
    files = runs(tmp_path, ("base", "new"))
    for path in files:
        document = json.loads(path.read_text())
        rows = [row for row in document["benchmarks"] if row["run_type"] == "aggregate"]
        made_up.write(path, document | {"benchmarks": rows})
    assert f"{files[0]}: holds aggregates only, expected every repetition" in refused(*files)


@pytest.mark.parametrize(
    "width, words", [(np.inf, "too few repetitions"), (0.1, "its own row is uncertain by 11 %")]
)
def test_a_cause_says_why_it_is_uncertain(width, words):
    assert doubt_of(Cause("conv2d", 1.0, 1.6, 0.9, False, width)).startswith(words)
