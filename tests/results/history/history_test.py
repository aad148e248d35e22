"""The command line of results/history: input files, errors and the page."""

import json
import os
import re

import made_up_history as made_up
import made_up_run
from made_up_history import sentences, shown
from program import history, refusals

refused = refusals("history")


def test_runs_are_in_the_order_of_their_dates(tmp_path):
    dates = ["2026-03-01T00:30:00+02:00", "2026-02-28T23:00:00+00:00", "2026-03-01T00:15:00+00:00"]
    (tmp_path / "runs/below").mkdir(parents=True)
    for file, date in zip(("c", "below/b", "a"), dates):
        made_up_run.write(tmp_path / f"runs/{file}.json", made_up.run(0, date=date))
    _, page = shown(tmp_path / "runs", tmp_path / "page.html")
    runs = json.loads(re.search('class="runs">(.*?)</script>', page)[1])
    assert [file for _, _, file in runs] == ["c.json", "below/b.json", "a.json"]


def test_each_machine_has_a_section(tmp_path):
    """Two machines alternate by day, one twice as slow. Neither changes."""
    folder = made_up.write(
        tmp_path / "runs",
        24,
        lambda _, day: 1 + day % 2,
        lambda day: {"cpu": ("Quick CPU", "Slow CPU")[day % 2]},
    )
    result, page = shown(folder, tmp_path / "page.html")
    assert result.stdout.startswith(f"{tmp_path}/page.html: 2 machines · 24 runs")
    headings = re.findall('<h2 class="machine">(.*?)</h2>', page)
    assert headings == [
        "Slow CPU, 8 CPUs",
        "Quick CPU, 8 CPUs",
    ], "the machine of the newest run comes first"
    runs = [json.loads(one) for one in re.findall('class="runs">(.*?)</script>', page)]
    assert [len(one) for one in runs] == [12, 12] and page.count("In 12 runs no change of 2 %") == 2


def test_gzip_files_are_runs_and_copies_of_a_run_count_once(tmp_path):
    folder = made_up.write(tmp_path / "runs", 3)
    plain = folder / made_up.file(0)
    packed = [folder / f"{made_up.file(day)}.gz" for day in range(2)]
    for file in packed:
        made_up_run.write(file, json.loads(file.with_suffix("").read_text()))
    packed[1].with_suffix("").unlink()
    for suffix in ("errors.jsonl", "samples.jsonl.gz"):
        (folder / f"{made_up.file(1)}.{suffix}").write_text("{}")
    result, page = shown(folder, tmp_path / "page.html")
    assert result.stderr == ""
    runs = json.loads(re.search('class="runs">(.*?)</script>', page)[1])
    assert [file for _, _, file in runs] == [plain.name, packed[1].name, made_up.file(2)]


def test_files_beside_a_run_are_not_read_even_if_the_run_is_lost(tmp_path):
    folder = made_up.write(tmp_path / "runs", 1)
    for name in (made_up.file(0), "lost.json"):
        for suffix in (
            ".part",
            ".errors.jsonl",
            ".explain.json",
            ".kernels.json",
            ".samples.jsonl",
        ):
            (folder / f"{name}{suffix}").write_text("")
    result, page = shown(folder, tmp_path / "page.html")
    assert result.stderr == "" and "Not a run" not in page


def test_files_that_are_not_runs_are_listed_and_skipped(tmp_path):
    folder = made_up.write(tmp_path / "runs", 3)
    good = json.dumps(made_up.run(3))
    cases = {
        "broken.json": (good[:3000], "is truncated at line 1"),
        "dateless.json": (good.replace('"date"', '"day"'), "date is 'none', expected one like"),
        "foreign.json": (good.replace("alexnet/train", "BM"), "no row of fathom_bench among its"),
        "notes": ("{Monday}", "is not JSON at line 1"),
        "timeless.json": (
            good.replace('"real_time": 1', '"real_time": -1'),
            "real_time of alexnet/",
        ),
    }
    for file, (text, _) in cases.items():
        (folder / file).write_text(text)
    for suffix in ("errors.jsonl", "explain.json", "kernels.json", "samples.jsonl"):
        (folder / f"{made_up.file(0)}.{suffix}").write_text("{}")
    (folder / ".hidden").write_text("")
    result, page = shown(folder, folder / "page.html")
    result, page = shown(folder, folder / "page.html")  # now the page is among the runs
    lines = result.stderr.splitlines()
    assert len(lines) == len(cases) and "3 runs" in result.stdout
    for (file, (_, found)), line in zip(cases.items(), lines):
        assert line.startswith(f"history: {folder}/{file}: ") and "expected" in line
        assert found in line, line
        assert f"<li>Not a run: {file}: " in page


def test_files_without_json_share_a_line(tmp_path):
    folder = made_up.write(tmp_path / "runs", 3)
    for name in ("README.md", "a.png", "below/b.csv", "c.tar.gz", ".hidden.png", "below/._a.json"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"\x89PNG")
    os.rename(folder / made_up.file(1), folder / "a run without a suffix")
    result, page = shown(folder, folder / "page.html")
    result, page = shown(folder, folder / "page.html")  # now the page is among the files
    line = "4 files without JSON: README.md, a.png, below/b.csv and c.tar.gz"
    assert result.stderr == f"history: {line}\n" and f"<li>{line}</li>" in page
    assert "3 runs" in result.stdout and "Not a run" not in page


def test_a_run_counts_once_however_often_it_is_there(tmp_path):
    """Otherwise, an outlier that is there twice were a level of two runs, and so two changes."""
    folder = made_up.write(tmp_path / "runs", 24, lambda _, day: 1.4 if day == 12 else 1)
    run = made_up.file(12)
    again = made_up.run(12, lambda *_: 1.4)
    made_up_run.write(folder / "again.json.gz", again)
    (folder / "other").mkdir()
    (folder / "other" / run).write_text(json.dumps(again, indent=1))
    made_up_run.write(folder / "cut.json", again | {"benchmarks": again["benchmarks"][:3]})
    result, page = shown(folder, tmp_path / "page.html")
    copies = ", ".join(f"{name} (of {run})" for name in ("again.json.gz", "cut.json"))
    line = f"3 files are copies of runs and not counted: {copies} and other/{run} (of {run})"
    assert result.stderr == f"history: {line}\n" and f"<li>{line}</li>" in page
    assert "24 runs" in result.stdout and sentences(page) == []


def test_different_runs_of_one_date_all_count(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    for number, noise in enumerate((0, 0.01)):
        made_up_run.write(folder / f"{number}.json", made_up.run(0, noise=noise))
    made_up_run.write(folder / "other machine.json", made_up.run(0, noise=0, cpu="Other CPU"))
    result, _ = shown(folder, tmp_path / "page.html")
    assert result.stderr == "" and "3 runs" in result.stdout


def test_a_name_that_is_not_utf8_is_shown_with_a_mark(tmp_path):
    folder = made_up.write(tmp_path / "runs", 3)
    name = os.fsencode(folder / made_up.file(0))
    os.rename(name, os.fsencode(folder) + b"/\xff.json")
    result, page = shown(folder, tmp_path / "page.html")
    assert result.stderr == "" and "\ufffd.json" in page


def test_a_file_without_its_op_types_is_named(tmp_path):
    folder = made_up.write(tmp_path / "runs", 3)
    older = folder / "older.json"
    older.write_text(json.dumps(made_up.run(3)).replace('"op_classes"', '"classes"'))
    result, page = shown(folder, tmp_path / "page.html")
    assert result.stderr.startswith(f"history: {older}: no op_classes in its context, expected ")
    assert "<li>Not a run: older.json: no op_classes" in page and "3 runs" in result.stdout


def test_a_folder_without_runs_is_refused_in_one_line(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("an earlier page")
    folder = tmp_path / "runs"
    assert f"{folder}: No such file or directory" in refused(folder, "-o", page)
    assert f"{page}: Not a directory" in refused(page, "-o", tmp_path / "other.html")
    folder.mkdir()
    assert f"{folder}: is empty" in refused(folder, "-o", page)
    (folder / "a.json").write_text("{}")
    (folder / "b.json").write_text("")
    assert f"no run among its 2 files ({folder}/a.json: no `context`" in refused(folder, "-o", page)
    assert page.read_text() == "an earlier page"


def test_a_page_that_cannot_be_written_is_refused(tmp_path):
    folder = made_up.write(tmp_path / "runs", 2)
    assert "No such file" in refused(folder, "-o", tmp_path / "none/page.html")
    assert "is a folder" in refused(folder, "-o", folder)
    run = folder / made_up.file(0)
    before = run.read_text()
    assert "is an input and the output" in refused(folder, "-o", run)
    assert f"belongs to {run}" in refused(folder, "-o", f"{run}.errors.jsonl")
    assert run.read_text() == before
    assert sorted(os.listdir(tmp_path)) == ["runs"]


def test_the_same_runs_give_the_same_bytes(tmp_path):
    folder = made_up.write(tmp_path / "runs", 5, op_rows=True)
    _, page = shown(folder, tmp_path / "page.html")
    os.rename(folder, tmp_path / "moved")
    assert shown(tmp_path / "moved", tmp_path / "again.html")[1] == page


def test_one_run_is_a_history(tmp_path):
    _, page = shown(made_up.write(tmp_path / "runs", 1), tmp_path / "page.html")
    assert (
        "In 1 run no change of 2 % or more was found. With so few runs, only large changes are found."
        in page
    )


def test_wrong_usage(tmp_path):
    assert history().returncode == 2
    result = history(tmp_path, "--smallest=none")
    assert result.returncode == 2 and "expected a number" in result.stderr
    assert history("--help").returncode == 0
