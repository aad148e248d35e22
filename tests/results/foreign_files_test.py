"""Files that other versions of Google Benchmark and other programs write, as the readers of results/ take them."""

import gzip
import json

import pytest
from made_up_rows import repeated, row

from fathom_runs import benchmarks
from fathom_runs.markdown import code, plain, table
from fathom_runs.source import RunError

NAME = "BM_misses/process_time/real_time"


def text(**fields):
    """A file with three repetitions and aggregates of a row. Google Benchmark writes the cv of zeros as NaN."""
    rows = list(repeated([row("BM_misses", 5.0, misses=1.0)], (1, 1.1, 1.2)))
    rows[-1]["misses"] = float("nan")
    for one in rows[: 3 if fields else 0]:
        one.update(fields)
    return json.dumps({"context": {"date": "2026-01-01T00:00:00+00:00"}, "benchmarks": rows})


def read(tmp_path, content):
    path = tmp_path / "run.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return benchmarks.read(path).measured


def refused(tmp_path, content):
    with pytest.raises(RunError) as error:
        read(tmp_path, content)
    (line,) = str(error.value).splitlines()
    return line


def test_an_aggregate_that_is_no_number_refuses_nothing(tmp_path):
    assert "NaN" in text()
    (found,) = read(tmp_path, text())
    assert found.times_us == pytest.approx([5, 5.5, 6]) and found.median("misses") == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), "many", None])
def test_a_counter_that_is_no_number_refuses_only_its_use(tmp_path, value):
    (found,) = read(tmp_path, text(misses=value))
    assert found.us == pytest.approx(5.5)
    words = json.dumps(value) if isinstance(value, float) else str(value)
    with pytest.raises(
        RunError, match=f"run.json: misses of {NAME} is '{words}', expected a number"
    ):
        found.median("misses")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "slow", None, -1])
def test_a_time_that_is_no_number_is_refused(tmp_path, value):
    words = json.dumps(value) if isinstance(value, float) else str(value)
    assert f"real_time of {NAME} is '{words}', expected" in refused(tmp_path, text(real_time=value))


def test_a_cpu_time_that_nobody_uses_refuses_nothing(tmp_path):
    (found,) = read(tmp_path, text(cpu_time=float("nan")))
    with pytest.raises(RunError, match="cpu_time of"):
        found.cpu_us


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_byte_order_mark_is_skipped(tmp_path, encoding, packed):
    content = text().encode(encoding)
    assert len(read(tmp_path, gzip.compress(content) if packed else content)) == 1


@pytest.mark.parametrize("above", ["Run on (8 X 3000 MHz CPU s)", "2026-01-01T00:00:00+00:00"])
def test_text_above_the_json_is_shown(tmp_path, above):
    line = refused(tmp_path, f"{above}\n{text()}")
    assert "is not JSON at line 1 (byte " in line and f"found {above[:4]!r}"[:-1] in line


def test_rows_of_old_versions_are_named(tmp_path):
    line = refused(tmp_path, text().replace('"run_name"', '"was_name"'))
    assert f"row '{NAME}"[:30] in line and "as of Google Benchmark 1.4 and older; expected" in line


def test_reasons_of_several_lines_become_one(tmp_path):
    failing = json.loads(text(error_occurred=True, error_message="boom\n\n  line | two\t`x`\r\n"))
    found = benchmarks.parsed("run.json", json.dumps(failing)).failed
    assert found == {NAME: "boom line | two\t`x`"}


# --- Markdown


def test_backticks_and_bars_stay_in_their_cell():
    assert code("BM_a") == "`BM_a`" and code("BM_`x`") == "`` BM_`x` ``"
    (_, rules, row) = table(["a", "b", "n"], [[code("a|b"), plain("c | `d`"), 1]], ["n"]).split(
        "\n"
    )[:-1]
    assert rules == "| --- | --- | --: |" and row == r"| `a\|b` | c \| \`d\` | 1 |"


def test_markup_of_names_is_shown_as_it_is():
    assert plain("BM_sort<int> *2*\nnext\\") == r"BM_sort\<int> \*2\* next\\"
