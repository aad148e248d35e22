"""results/gate --waivers: a slower row passes up to a ceiling and until a date."""

import datetime

import pytest
from gated import MEMNET, SLOW_CONVOLUTION, SUFFIX, VGG, base, row_of, run, verdict
from program import gate, refusals

from fathom_gate.waivers import read
from fathom_runs.source import RunError

refused = refusals("gate")

WAIVER = {"row": f'"{VGG}"', "ceiling": "25", "until": "2999-12-31", "reason": '"issue 7"'}


def table(**changed):
    """The text of a waiver: that of vgg's step, with other values. None leaves a key out."""
    values = {key: value for key, value in (WAIVER | changed).items() if value is not None}
    return "[[waiver]]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())


@pytest.fixture
def waivers(tmp_path):
    """Returns a function that writes a file of waivers and returns the option that names it."""

    def written(*texts):
        (tmp_path / "waivers.toml").write_text("\n".join(texts))
        return f"--waivers={tmp_path}/waivers.toml"

    return written


@pytest.fixture
def slower(tmp_path):
    """A run in which vgg's step is 10 % slower."""
    return run(tmp_path / "new.json", 2, SLOW_CONVOLUTION)


def test_a_waived_row_passes_and_is_told(tmp_path, base, slower, waivers):
    result = gate(base, slower, waivers(table()), f"--markdown={tmp_path}/comment.md")
    assert result.returncode == 0, result.stdout + result.stderr
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("WAIVED ")]
    assert line.startswith(f"WAIVED    {VGG}: +10.")
    assert line.endswith(", up to +25.0 % until 2999-12-31: issue 7")
    assert f"- {line}" in (tmp_path / "comment.md").read_text().splitlines()
    assert result.stdout.splitlines()[-1] == "no regression; 1 row waived"


def test_the_json_has_the_waiver(base, slower, waivers):
    _, found = verdict(base, slower, waivers(table()))
    row = row_of(found, VGG)
    assert row["class"] == "SLOWER" and row["fails"] is False
    assert row["waiver"] == {"ceiling_pct": 25, "until": "2999-12-31", "reason": "issue 7"}
    assert "waiver" not in row_of(found, MEMNET)


def test_a_row_above_its_ceiling_fails(base, slower, waivers):
    result = gate(base, slower, waivers(table(ceiling="7.5")))
    assert result.returncode == 1 and "regression: 1 row slower" in result.stdout
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("FAILS ")]
    assert VGG in line and line.endswith(", above the ceiling of its waiver, +7.5 %")


def test_another_slower_row_fails(tmp_path, base, waivers):
    new = run(tmp_path / "new.json", 2, {MEMNET + SUFFIX: 1.1} | SLOW_CONVOLUTION)
    code, found = verdict(base, new, waivers(table()))
    assert code == 1 and found["verdict"] == "regression: 1 row slower"


def test_a_vanished_row_is_not_waived(tmp_path, base, waivers):
    new = run(tmp_path / "new.json", 2, workloads=("memnet",))
    assert verdict(base, new, waivers(table()))[0] == 1


def test_a_waiver_of_a_row_that_is_not_slower_says_nothing(tmp_path, base, waivers):
    result = gate(base, run(tmp_path / "new.json", 2), waivers(table()))
    assert result.returncode == 0 and "WAIVED" not in result.stdout


def test_a_name_may_have_the_suffix_of_all_rows(base, slower, waivers):
    assert verdict(base, slower, waivers(table(row=f'"{VGG}{SUFFIX}"')))[0] == 0


def test_a_waiver_of_a_row_that_the_filter_leaves_out_is_accepted(base, slower, waivers):
    assert verdict(base, slower, waivers(table()), "--filter=^memnet/")[0] == 0


def test_a_file_without_waivers_is_accepted(base, slower, waivers):
    assert verdict(base, slower, waivers("# none\n"))[0] == 1


def test_a_waiver_holds_on_its_last_day(tmp_path, waivers):
    waivers(table(until="2026-12-31"))
    path, last = tmp_path / "waivers.toml", datetime.date(2026, 12, 31)
    (waiver,) = read(path, last)
    assert waiver.until == last
    with pytest.raises(RunError, match="waiver 1: expired on 2026-12-31"):
        read(path, last + datetime.timedelta(days=1))


@pytest.mark.parametrize(
    "texts, found",
    [
        ([table(until="2020-01-31")], f"waiver 1: expired on 2020-01-31 ('{VGG}'), expected"),
        ([table(until='"2999-12-31"')], "waiver 1: until is '2999-12-31', expected the last day"),
        ([table(until="2999-12-31T00:00:00")], "waiver 1: until is '2999-12-31 00:00:00'"),
        ([table(ceiling="0")], "waiver 1: ceiling is '0', expected a percentage above 0"),
        ([table(ceiling='"25 %"')], "waiver 1: ceiling is '25 %', expected a percentage"),
        ([table(reason='" "')], "waiver 1: reason is ' ', expected a text"),
        ([table(reason=None)], "waiver 1: has no reason, expected a text"),
        (
            [table(), table(row=f'"{MEMNET}"', celing="30")],
            "waiver 2: has the key 'celing', expected",
        ),
        (
            [table(), table(row=f'"{VGG}{SUFFIX}"')],
            f"waiver 2: is another one of '{VGG}', expected",
        ),
        ([table(row='"vgg/trian"')], "waiver 1: no run has the row 'vgg/trian', expected"),
        (
            [table()[1:]],
            "is not TOML (Expected newline or end of document after a statement (at line 1",
        ),
        (["waivers = []"], "has the key 'waivers', expected TOML with tables [[waiver]] of row, "),
        ([table().replace("[[", "[").replace("]]", "]")], "waiver is no list of tables, expected"),
    ],
)
def test_wrong_waivers_are_refused(base, slower, waivers, texts, found):
    assert f"waivers.toml: {found}" in refused(base, slower, waivers(*texts))


def test_a_file_of_waivers_that_is_missing_is_refused(tmp_path, base, slower):
    line = refused(base, slower, f"--waivers={tmp_path}/nowhere.toml")
    assert "nowhere.toml: No such file or directory, expected TOML" in line


def test_a_file_of_waivers_is_not_overwritten(tmp_path, base, slower, waivers):
    line = refused(base, slower, waivers(table()), f"--json={tmp_path}/waivers.toml")
    assert "is an input and the output" in line
