"""The command line of results/compare: sides, pairs, warnings and errors."""

import json
import os
import re

import made_up_pair as made_up
import made_up_run
import pytest
from made_up_pair import OTHER, document, notes, row, rows, sentences, shown, write
from program import compare, refusals

refused = refusals("compare")
VGG = {"workload": "vgg", "mode": "training", "setting": "CPU, 1 thread"}


@pytest.fixture
def page(tmp_path):
    return tmp_path / "page.html"


def test_the_first_file_is_the_base(tmp_path, page):
    files = write(tmp_path, a=document(), b=document(2, **OTHER))
    result, text = shown(*files, page=page)
    assert result.stdout == f"{page}: B against A: 6 steps, 32 op types and 34 ops on both\n"
    found = row(text, "steps", **VGG)
    assert float(found["A_us"]) == 100_000 and float(found["B_us"]) == 50_000
    assert float(found["speedup"]) == 2 and float(found["change_pct"]) == -50
    _, text = shown(*files[::-1], page=page)
    assert float(row(text, "steps", **VGG)["speedup"]) == 0.5


def test_the_files_of_a_machine_are_one_side(tmp_path, page):
    base = {f"a{n}": document(speed) for n, speed in enumerate((1, 1.1, 0.5))}
    files = write(tmp_path, **base, b=document(2, **OTHER))
    _, text = shown(files[0], files[3], files[1], files[2], page=page)
    found = row(text, "steps", **VGG)
    assert float(found["A_us"]) == 100_000, "the median over all files"
    assert (found["A_repetitions"], found["B_repetitions"]) == ("3", "1")
    assert "a0.json; " in row(text, "machines", field="files")["A"]


def test_repetitions_of_all_files_give_one_median(tmp_path, page):
    files = write(
        tmp_path,
        a=document(repetitions=(1, 2, 3)),
        more=document(repetitions=(9, 9)),
        b=document(**OTHER),
    )
    _, text = shown(files[0], files[2], files[1], page=page)
    assert float(row(text, "steps", **VGG)["A_us"]) == pytest.approx(300_000)


def test_versions_of_libtorch_are_sides(tmp_path, page):
    files = write(tmp_path, a=document(), b=document(1.5, libtorch="2.12.0"))
    _, text = shown(*files, page=page)
    assert (
        "A: Made-up CPU, 8 CPUs, LibTorch 2.11.0 · B: Made-up CPU, 8 CPUs, LibTorch 2.12.0" in text
    )
    assert row(text, "settings", field="LibTorch") == {
        "field": "LibTorch",
        "A": "2.11.0",
        "B": "2.12.0",
    }


def test_files_of_one_side_need_against(tmp_path, page):
    files = write(tmp_path, a=document(), b=document(2))
    line = refused(*files, "-o", page)
    assert "a.json and 1 more: of one machine and one LibTorch" in line and "--against FILE" in line
    _, text = shown(files[0], "--against", files[1], page=page)
    assert float(row(text, "steps", **VGG)["speedup"]) == 2
    assert (
        "A: Made-up CPU, 8 CPUs, a · B: Made-up CPU, 8 CPUs, b" in text
    ), "titles name the files of equal machines"


def test_a_run_counts_once(tmp_path, page):
    files = write(tmp_path, a=document(), again=document(), b=document(2, **OTHER))
    line = refused(*files, "-o", page)
    assert "again.json: has the content of " in line and "expected another run" in line
    assert "has the content of" in refused(files[0], "--against", files[1], "-o", page)


def test_a_run_against_itself_is_refused(tmp_path, page):
    (file,) = write(tmp_path, a=document())
    for files in ((file, "--against", file), (file, file)):
        assert "a.json: is given twice, expected each run once" in refused(*files, "-o", page)


def test_a_side_of_several_machines_is_refused(tmp_path, page):
    files = write(tmp_path, a=document(), b=document(**OTHER), c=document())
    line = refused(*files[:2], "--against", files[2], "-o", page)
    assert "b.json: cpu is Other CPU, in " in line and "a.json it is Made-up CPU;" in line


def test_three_machines_are_compared_with_the_first(tmp_path, page):
    third = document(4, cpu="Third CPU")
    files = write(tmp_path, a=document(), b=document(2, **OTHER), c=third)
    result, text = shown(*files, page=page)
    assert [line.split(": ")[1] for line in result.stdout.splitlines()] == [
        "B against A",
        "C against A",
    ]
    assert float(row(text, "steps", **VGG)["speedup"]) == 2
    assert float(row(text, "steps-C", **VGG)["speedup"]) == 4
    assert row(text, "machines", field="CPU") == {
        "field": "CPU",
        "A": "Made-up CPU",
        "B": "Other CPU",
        "C": "Third CPU",
    }
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))


def test_only_rows_with_equal_names_are_paired(tmp_path, page):
    files = write(
        tmp_path,
        a=document(threads=(1, 2)),
        b=document(workloads=("vgg", "seq2seq"), threads=(1, 2), **OTHER),
    )
    _, text = shown(*files, page=page)
    assert {one["workload"] for one in rows(text, "steps")} == {"vgg"}
    assert {one["setting"] for one in rows(text, "steps")} == {"CPU, 1 thread", "CPU, 2 threads"}


def test_the_most_threads_of_each_side_are_compared(tmp_path, page):
    """memnet has no row of four threads on A, so only names with two threads are paired there."""
    files = write(tmp_path, a=document(threads=(1, 2)), b=document(threads=(1, 2, 4), **OTHER))
    _, text = shown(*files, page=page)
    found = row(text, "steps", **VGG | {"setting": "CPU, 2 against 4 threads"})
    expected = [made_up_run.step_us("vgg", threads) for threads in (2, 4)]
    assert [float(found[key]) for key in ("A_us", "B_us")] == pytest.approx(expected)
    assert any(
        line.startswith("Training, CPU, 2 against 4 threads: B is ") for line in sentences(text)
    )


def test_the_threads_of_a_rank_are_not_the_most_of_a_side(tmp_path, page):
    import made_up_ranks

    extra = [made_up_ranks.step("vgg", 2, threads=4)]
    files = write(tmp_path, a=document(threads=(1, 2), extra=extra), b=document(**OTHER))
    _, text = shown(*files, page=page)
    assert row(text, "steps", **VGG | {"setting": "CPU, 2 against 1 thread"})


def test_steps_with_ranks_are_compared_but_not_their_collectives(tmp_path, page):
    import made_up_ranks

    extra = made_up_ranks.rows(("vgg",), ranks=(2,))
    files = write(tmp_path, a=document(extra=extra), b=document(2, extra=extra, **OTHER))
    _, text = shown(*files, page=page)
    assert float(row(text, "steps", setting="CPU, 1 thread, 2 ranks")["speedup"]) == 2
    assert "all_reduce" not in {one["type"] for one in rows(text, "oprows")}
    assert "CPU, 1 thread, 2 ranks" not in {one["setting"] for one in rows(text, "speedup")}


# --- warnings


def test_different_programs_are_a_warning(tmp_path, page):
    files = write(tmp_path, a=document(), b=document(git_commit="1" * 40, **OTHER))
    _, text = shown(*files, page=page)
    (line,) = [one for one in notes(text) if one.startswith("The files are of different programs")]
    assert f"A: 0.1.1, commit {'0' * 12}; B: 0.1.1, commit {'1' * 12}" in line


@pytest.mark.parametrize("older", ["a", "b"])
def test_flops_of_an_older_rule_are_a_warning(tmp_path, page, older):
    contents = {
        "a": document(workloads=("seq2seq",)),
        "b": document(workloads=("seq2seq",), **OTHER),
    }
    contents[older]["context"]["fathom_version"] = "0.1.0"
    _, text = shown(*write(tmp_path, **contents), page=page)
    (line,) = [one for one in notes(text) if "counted fewer FLOPs" in one]
    assert "seq2seq/train (0.007 %)" in line and "seq2seq/infer (0.002 %)" in line


def test_equal_programs_are_no_warning(tmp_path, page):
    _, text = shown(*write(tmp_path, a=document(), b=document(**OTHER)), page=page)
    assert notes(text) == []


def test_steps_that_a_side_lacks_are_named(tmp_path, page):
    files = write(
        tmp_path,
        a=document(threads=(1, 2, 4), scales=(1,)),
        b=document(workloads=("alexnet", "vgg"), scales=(0.5, 1), **OTHER),
    )
    _, text = shown(*files, page=page)
    only_a, only_b = notes(text)
    assert only_a.startswith("Steps only in A: workload memnet; threads 2 and 4. ")
    assert only_b.startswith(
        "Steps only in B: batch 32 of alexnet/train, batch 32 of alexnet/infer, "
        "batch 4 of vgg/train and batch 4 of vgg/infer. "
    )
    assert only_b.endswith("rows of B have no row with the same name in A.")


def test_settings_that_differ_are_a_warning_and_a_table(tmp_path, page):
    files = write(
        tmp_path,
        a=document(malloc="default"),
        b=document(malloc="LD_PRELOAD=x", onednn="3.9", **OTHER),
    )
    _, text = shown(*files, page=page)
    assert notes(text) == ["These settings differ: malloc. The table below has their values."]
    assert row(text, "settings", field="malloc")["B"] == "LD_PRELOAD=x"
    assert row(text, "settings", field="oneDNN")["A"] == "not recorded"


def test_disturbed_rows_are_a_warning(tmp_path, page):
    made = document(**OTHER)
    for one in made["benchmarks"]:
        one["disturbed_steps"] = one["iterations"] if one["name"].startswith("vgg/train") else 0
    _, text = shown(*write(tmp_path, a=document(), b=made), page=page)
    (line,) = notes(text)
    assert line.startswith("B: 1 of 6 steps was disturbed: ")
    assert row(text, "machines", field="disturbed steps")["B"] == "1 of 6"


def test_peaks_are_shown_with_their_ratio(tmp_path, page):
    peak = {"peak_flops_cpu_threads1_fp32": "250 GFLOP/s, oneDNN GEMM"}
    _, text = shown(*write(tmp_path, a=document(), b=document(**OTHER, **peak)), page=page)
    assert row(text, "machines", field="peak: cpu, 1 thread, fp32") == {
        "field": "peak: cpu, 1 thread, fp32",
        "A": "100 GFLOP/s",
        "B": "250 GFLOP/s (2.5 × A)",
    }


def test_intervals_of_one_file_are_a_warning(tmp_path, page):
    options = {"workloads": ("vgg",), "repetitions": made_up_run.REPETITIONS}
    files = write(tmp_path, a=document(**options), b=document(2, **options, **OTHER))
    _, text = shown(*files, page=page)
    (line,) = notes(text)
    assert line.startswith("A and B have one file of some rows.") and "in 34 % (docs" in line


# --- little data, errors and output


def test_figures_without_rows_are_named(tmp_path, page):
    options = {"profile": False, "op_rows": False}
    files = write(tmp_path, a=document(**options), b=document(**options, **OTHER))
    result, text = shown(*files, page=page)
    missing = [line.split(": ")[1] for line in result.stdout.splitlines() if "not shown" in line]
    assert missing == ["optypes", "opshares", "roofs"]
    assert '<section id="missing">' in text and "--fathom_profile" in text
    command = (
        "./fathom_bench --fathom_profile --benchmark_filter='^(alexnet|vgg|memnet)/train/' "
        "--benchmark_out=a-more.json"
    )
    assert f"optypes: op types of training steps on both sides: {command}\n" in result.stdout


@pytest.mark.parametrize(
    "options",
    [
        {"workloads": ("vgg",)},
        {"modes": ("infer",)},
        {"workloads": ("vgg",), "modes": ("train",), "gpu": True, "threads": (1, 2)},
        {"workloads": (), "extra": made_up_run.ops("vgg")},
    ],
)
def test_little_data_is_not_an_error(tmp_path, page, options):
    files = write(tmp_path, a=document(**options), b=document(2, **options, **OTHER))
    _, text = shown(*files, page=page)
    assert "nan" not in text.replace("nan_to_num", "").lower().split("<script>")[0]


def test_without_a_common_row_there_is_no_page(tmp_path, page):
    files = write(
        tmp_path, a=document(workloads=("vgg",)), b=document(workloads=("memnet",), **OTHER)
    )
    line = refused(*files, "-o", page)
    assert f"{files[1]}: has no step and no op of {files[0]}, expected rows" in line
    assert line.endswith("come from fathom_bench --fathom_profile --benchmark_out=run.json\n")
    assert not page.exists()


def test_broken_files_give_one_line_and_keep_the_page(tmp_path, page):
    page.write_text("an earlier page")
    good, bad = write(tmp_path, good=document(), bad=document(**OTHER))
    text = bad.read_text()
    cases = {
        text[:3000]: "is truncated at line 1",
        "{}": "no `context`",
        text.replace("op_classes", "classes"): "no op_classes in its context",
        text.replace("/batch:8", ""): "lacks a valid 'batch'",
        text.replace('"real_time": 100000', '"real_time": -1'): "real_time of vgg/train",
    }
    for broken, found in cases.items():
        assert broken != text
        bad.write_text(broken)
        assert found in refused(good, bad, "-o", page)
    assert "none.json: No such file" in refused(good, tmp_path / "none.json", "-o", page)
    bad.write_text(text)
    assert "is an input and the output" in refused(good, bad, "-o", bad)
    assert "No such file" in refused(good, bad, "-o", tmp_path / "no/page.html")
    assert bad.read_text() == text and page.read_text() == "an earlier page"
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_the_same_input_gives_the_same_bytes(tmp_path, page):
    files = write(
        tmp_path,
        a=document(repetitions=made_up_run.REPETITIONS),
        b=document(2, repetitions=made_up_run.REPETITIONS, **OTHER),
    )
    assert shown(*files, page=page)[1] == shown(*files, page=tmp_path / "again.html")[1]


def test_names_and_settings_are_escaped(tmp_path, page):
    script = "<script>alert(1)</script>"
    files = write(tmp_path, a=document(), b=document(cpu=script, compiler_flags=script))
    _, text = shown(*files, page=page)
    assert script not in text and json.dumps(script) not in text


def test_wrong_usage(tmp_path):
    assert compare().returncode == 2
    assert compare("--help").returncode == 0
