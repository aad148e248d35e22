"""The command line of results/report: input files, errors and output."""

import hashlib
import json
import os
import re
import shlex
import subprocess

import made_up_run
import pytest
from program import ROOT, refusals, report

refused = refusals("report")


def test_missing_figures_are_listed(tmp_path):
    document = made_up_run.document(workloads=("alexnet",), profile=False, op_rows=False)
    run = made_up_run.write(tmp_path / "run.json", document)
    result = report(run, "-o", tmp_path / "report.html")
    assert result.returncode == 0 and result.stderr == ""
    first, *missing = result.stdout.splitlines()
    assert first.startswith(f"{tmp_path}/report.html: ") and missing
    page = (tmp_path / "report.html").read_text()
    for key in ("fathom-2", "fathom-6"):
        (line,) = [line for line in missing if re.search(rf"\b{key}\b", line)]
        assert line.startswith("not shown: ") and "--fathom_profile" in line
    assert '<section id="missing">' in page and "<code>./fathom_bench --fathom_profile" in page


def commands(result):
    """The commands in the lines of missing figures."""
    return re.findall(r"\./fathom_bench(?: -\S+)*", result.stdout)


def test_commands_of_missing_figures_measure_the_workloads_of_the_file_into_another(tmp_path):
    document = made_up_run.document(workloads=("vgg", "memnet"), threads=(1, 4), profile=False)
    run = made_up_run.write(tmp_path / "run.json", document)
    found = commands(report(run, "-o", tmp_path / "report.html"))
    assert len(found) >= 8
    for command in found:
        *_, rows, out = shlex.split(command)
        assert "(vgg|memnet" in rows and rows.startswith("--benchmark_filter=^")
        assert out.strip(",") == "--benchmark_out=run-more.json"
        assert "--fathom_threads=8" not in command, "more threads than the file's machine may have"
    profile = "./fathom_bench --fathom_profile --fathom_threads=1,4 --benchmark_filter='^(vgg|memnet)/train/'"
    assert f"{profile} --benchmark_out=run-more.json" in found


def test_the_file_of_such_a_command_is_none_of_the_reports(tmp_path):
    names = ("run", "run-more", "run-more2")
    files = [
        made_up_run.write(tmp_path / f"{name}.json.gz", made_up_run.document(workloads=("vgg",)))
        for name in names
    ]
    found = commands(report(*files, "-o", tmp_path / "report.html"))
    assert found and all("--benchmark_out=run-more3.json" in command for command in found)


def test_a_gpus_missing_figures_are_measured_there(tmp_path):
    document = made_up_run.document(workloads=("vgg",), gpu=True, profile=False, op_rows=False)
    rows = [row for row in document["benchmarks"] if "device:cuda" in row["name"]]
    run = made_up_run.write(tmp_path / "run.json", document | {"benchmarks": rows})
    found = commands(report(run, "-o", tmp_path / "report.html"))
    assert sum("--fathom_device=cuda --benchmark_filter=" in command for command in found) > 5


def test_a_share_that_no_machine_reaches_is_no_number(tmp_path):
    """The peak of this file is a thousandth of the right one."""
    document = made_up_run.document(workloads=("vgg", "alexnet"), scales=(0.5, 1))
    document["context"]["peak_flops_cpu_threads1_fp32"] = "0.1 GFLOP/s, loop"
    for row in document["benchmarks"]:
        if "flops_pct_peak" in row:
            row["flops_pct_peak"] *= 10_000
    run = made_up_run.write(tmp_path / "run.json", document)
    assert report(run, "-o", tmp_path / "report.html").returncode == 0
    page = (tmp_path / "report.html").read_text()
    text = re.sub(r"<script.*?</script>|<svg.*?</svg>", "", page, flags=re.S)
    text = text.replace("\u00a0", " ").replace("&gt;", ">")
    assert "share of the FLOP/s peak: more than 300 %" in text and ">300</td>" in text
    assert not re.search(r"\d{4,} %", text)


def test_one_of_a_kind_is_in_the_singular(tmp_path):
    document = made_up_run.document(workloads=("alexnet",), profile=False)
    step = next(row for row in document["benchmarks"] if row["name"].startswith("alexnet/train"))
    op = next(row for row in document["benchmarks"] if row["name"].startswith("op/"))
    run = made_up_run.write(tmp_path / "run.json", document | {"benchmarks": [step, op]})
    sample = {"name": step["name"], "repetition": 0, "step": 0, "us": 5.0}
    made_up_run.write(tmp_path / "run.json.samples.jsonl", sample)
    result = report(run, "-o", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert re.search(r": \d+ figures?, 1 step, 1 op$", result.stdout.splitlines()[0])
    assert "alexnet over 1 step: " in page and "1 op row" in page
    assert not re.search(r"\b1 (figures|steps|op rows|ops)\b", result.stdout + page)


def test_samples_beside_a_file_are_read(tmp_path):
    run = made_up_run.write(tmp_path / "run.json", made_up_run.document(workloads=("alexnet",)))
    assert "fathom-1" in report(run, "-o", tmp_path / "report.html").stdout.split("not shown", 1)[1]
    made_up_run.write(tmp_path / "run.json.samples.jsonl", made_up_run.samples())
    result = report(run, "-o", tmp_path / "report.html")
    assert "fathom-1" not in result.stdout and result.returncode == 0


def test_samples_that_are_given_in_another_way_are_read_once(tmp_path, monkeypatch):
    run = made_up_run.write(tmp_path / "run.json", made_up_run.document(workloads=("alexnet",)))
    samples = made_up_run.write(tmp_path / "run.json.samples.jsonl", made_up_run.samples())
    monkeypatch.chdir(tmp_path)
    pages = tmp_path / "once.html", tmp_path / "again.html"
    report(run, "-o", pages[0])
    report(run, samples.name, "-o", pages[1])
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_empty_samples_beside_a_file_are_none(tmp_path):
    run = made_up_run.write(tmp_path / "run.json", made_up_run.document(workloads=("alexnet",)))
    (tmp_path / "run.json.samples.jsonl").touch()
    result = report(run, "-o", tmp_path / "report.html")
    assert result.returncode == 0 and "fathom-1" in result.stdout


def test_rows_that_failed_are_named_at_the_top(tmp_path):
    document = made_up_run.document(workloads=("alexnet",))
    run = made_up_run.write(tmp_path / "run.json", document)
    measured = document["benchmarks"][0]["run_name"]
    failures = [
        {"name": measured, "reason": "in an earlier run"},
        {"name": "vgg/infer/device:cpu/precision:int4w/backend:torch", "reason": "no memory"},
    ]
    (tmp_path / "run.json.errors.jsonl").write_text("\n".join(map(json.dumps, failures)))
    assert report(run, "-o", tmp_path / "report.html").returncode == 0
    page = (tmp_path / "report.html").read_text()
    assert (
        "1 row failed, for example vgg/infer/device:cpu/precision:int4w/backend:torch: no memory."
        in page
    )


def test_a_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = report(".", "-o", "report.html")
    assert result.returncode == 2 and result.stderr.count("\n") == 1


def test_files_of_one_machine_are_merged(tmp_path):
    one = made_up_run.document(workloads=("alexnet",))
    two = made_up_run.document(workloads=("alexnet", "vgg"), git_commit="1" * 40)
    two["benchmarks"][0]["real_time"] = 12345678
    files = [
        made_up_run.write(tmp_path / f"{name}.json", document)
        for name, document in (("one", one), ("two", two))
    ]
    result = report(*files, "-o", tmp_path / "report.html")
    assert result.returncode == 0 and "4 steps" in result.stdout
    page = (tmp_path / "report.html").read_text()
    assert f"{len(one['benchmarks'])} rows are in several files; the value of the last file" in page
    assert f"The files differ in git_commit: {'0' * 40}, {'1' * 40}." in page
    assert "12\u202f345\u202f678" in page


@pytest.mark.parametrize("key", ["num_cpus", "cpu", "gpu"])
def test_two_machines_are_refused(tmp_path, key):
    files = []
    for name in ("here", "there"):
        document = made_up_run.document(workloads=("memnet",))
        document["context"][key] = name
        files.append(made_up_run.write(tmp_path / f"{name}.json", document))
    line = refused(*files, "-o", tmp_path / "report.html")
    assert f"there.json: {key} is there, in " in line and "here.json it is here;" in line


def test_settings_of_the_gpu_are_shown_and_compared(tmp_path):
    files = []
    for name in ("one", "two"):
        settings = {key: f"{key} of {name}" for key in made_up_run.GPU_SETTINGS}
        document = made_up_run.document(workloads=("alexnet",), gpu=True, **settings)
        files.append(made_up_run.write(tmp_path / f"{name}.json", document))
    assert report(files[0], "-o", tmp_path / "report.html").returncode == 0
    page = (tmp_path / "report.html").read_text()
    assert all(f"{key} of one" in page for key in made_up_run.GPU_SETTINGS)
    assert report(*files, "-o", tmp_path / "report.html").returncode == 0
    page = (tmp_path / "report.html").read_text()
    assert all(
        f"The files differ in {key}: {key} of one, {key} of two." in page
        for key in made_up_run.GPU_SETTINGS
    )


@pytest.mark.parametrize("first", [0, 1])
def test_a_setting_that_only_one_file_has_is_named(tmp_path, first):
    files = []
    for name, settings in (("with", {"rom": "pong.bin"}), ("without", {})):
        document = made_up_run.document(workloads=("memnet",), **settings)
        files.append(made_up_run.write(tmp_path / f"{name}.json", document))
    files = [files[first], files[1 - first]]
    assert report(*files, "-o", tmp_path / "report.html").returncode == 0
    values = ["pong.bin", "none"] if first == 0 else ["none", "pong.bin"]
    page = (tmp_path / "report.html").read_text()
    assert f"The files differ in rom: {', '.join(values)}." in page


@pytest.mark.parametrize(
    "workload, version, warns",
    [("seq2seq", "0.1.0", True), ("vgg", "0.1.0", False), ("seq2seq", "0.1.1", False)],
)
def test_flops_of_an_older_rule_are_named(tmp_path, workload, version, warns):
    document = made_up_run.document(workloads=(workload,), fathom_version=version)
    path = made_up_run.write(tmp_path / "run.json", document)
    assert report(path, "-o", tmp_path / "report.html").returncode == 0
    words = "before 0.1.1 counted fewer FLOPs than the ops of a step have: seq2seq/train (0.007 %)"
    assert (words in (tmp_path / "report.html").read_text()) == warns


def test_host_names_may_differ(tmp_path):
    files = []
    for name in ("docker-1", "docker-2"):
        document = made_up_run.document(workloads=("memnet",), host_name=name)
        files.append(made_up_run.write(tmp_path / f"{name}.json", document))
    assert report(*files, "-o", tmp_path / "report.html").returncode == 0
    page = (tmp_path / "report.html").read_text()
    assert "The files differ in host_name: docker-1, docker-2." in page


@pytest.mark.parametrize("key", made_up_run.CATALOGUE)
def test_a_file_without_its_op_types_is_named(tmp_path, key):
    document = made_up_run.document(workloads=("memnet",))
    del document["context"][key]
    run = made_up_run.write(tmp_path / "run.json", document)
    line = refused(run, "-o", tmp_path / "report.html")
    assert f"run.json: no {key} in its context, expected " in line
    assert "the command_line in its context makes it anew" in line


def test_catalogues_of_several_files_are_merged(tmp_path):
    """The second file lists another workload with its default batch."""
    files = []
    for workload in ("memnet", "vgg"):
        known = f"{workload}/train:{made_up_run.BATCH[workload]}"
        document = made_up_run.document((workload,), default_batches=known)
        files.append(made_up_run.write(tmp_path / f"{workload}.json", document))
    result = report(*files, "-o", tmp_path / "report.html")
    assert result.returncode == 0 and "4 steps" in result.stdout
    assert "The files differ in" not in (tmp_path / "report.html").read_text()


def test_broken_files_give_one_line_and_keep_the_page(tmp_path):
    page = tmp_path / "report.html"
    page.write_text("an earlier page")
    good = json.dumps(made_up_run.document(workloads=("memnet",)))
    foreign = made_up_run.document(workloads=())
    foreign["benchmarks"] = [made_up_run.row("BM_SetInsert/1024/1", 5)]
    timeless = json.loads(good)
    del timeless["benchmarks"][0]["real_time"]
    shapeless = json.loads(good.replace("/batch:32", ""))
    named = made_up_run.write(tmp_path / "sample", made_up_run.samples()).read_text()
    cases = {
        "": "is truncated at line 1 (byte 0)",
        good[:3000]: "is truncated at line 1 (byte ",
        good[:-1]: f"is truncated at line 1 (byte {len(good) - 1})",
        good.replace("}", "]", 1): "is not JSON at line 1 (byte ",
        "[]": "a list at the top",
        "{}": "no `context`",
        '{"context": {}, "benchmarks": {}}': "no `benchmarks`",
        '{"context": {}, "benchmarks": [3]}': "`benchmarks` holds '3'",
        '{"context": {}, "benchmarks": []}': "no measured row",
        json.dumps(foreign): "no row of fathom_bench among its 1 row,",
        json.dumps(timeless): "real_time of memnet/train/device:cpu/threads:1/batch:32/",
        json.dumps(shapeless): "lacks a valid 'batch'",
        good.replace('"params": 1000000.0', '"params": NaN'): "is 'NaN', expected a number",
        good.replace('"params": 1000000.0', '"params": "many"'): "is 'many', expected a number",
        good.replace('"label": "framework"', '"label": ""'): "has no label",
        good.replace('"label": "framework"', '"label": 3'): "label of memnet/train/",
        good.replace("mul:elementwise", "mul elementwise"): "op_classes has 'mul', expected",
        good.replace("vgg/train:8", "vgg/train:eight"): "default_batches has vgg/train:eight, ",
        "[" * 100000: "nested too deeply",
        named + '{"name": "cut of': 'line 241 is \'{"name": "cut of\'',
        named: "found only files of --fathom_samples",
    }
    file = tmp_path / "run.json"
    for text, found in cases.items():
        file.write_text(text)
        line = refused(file, "-o", page)
        assert found in line, (found, line)
    file.write_bytes(b"\xff{")
    assert "run.json: byte 0 is not UTF-8" in refused(file, "-o", page)
    assert "none.json: No such file" in refused(tmp_path / "none.json", "-o", page)
    assert f"{tmp_path}: Is a directory" in refused(tmp_path, "-o", page)
    file.write_text(good)
    assert "No such file" in refused(file, "-o", tmp_path / "no/report.html")
    assert "is a folder" in refused(file, "-o", tmp_path)
    assert "is an input and the output" in refused(file, "-o", file)
    for suffix in (".samples.jsonl", ".errors.jsonl", ".explain.json"):
        beside = tmp_path / f"run.json{suffix}"
        assert f"{beside}: belongs to {file}, expected another -o" in refused(file, "-o", beside)
    assert file.read_text() == good
    assert page.read_text() == "an earlier page"
    assert sorted(os.listdir(tmp_path)) == ["report.html", "run.json", "sample"]


def test_figures_that_cannot_be_written_give_one_line_and_keep_the_page(tmp_path):
    document = made_up_run.document(workloads=("alexnet",), op_rows=False)
    run, page = made_up_run.write(tmp_path / "run.json", document), tmp_path / "report.html"
    page.write_text("an earlier page")
    blocked = tmp_path / "figures/fathom-2.svg"
    blocked.mkdir(parents=True)
    line = refused(run, "-o", page, "--figures", blocked.parent)
    assert f"{blocked}: Is a directory, expected a file in a writable folder" in line
    assert f"{run}: File exists, expected a writable folder" in refused(
        run, "-o", page, "--figures", run
    )
    assert page.read_text() == "an earlier page"


def test_disturbed_rows_are_mentioned(tmp_path):
    document = made_up_run.document(workloads=("memnet",))
    for row in document["benchmarks"]:
        if "/op:" not in row["name"]:
            row["disturbed_steps"] = row["iterations"] if "/train/" in row["name"] else 1
    run = made_up_run.write(tmp_path / "run.json", document)
    report(run, "-o", tmp_path / "report.html")
    assert "<li>1 of 2 steps was disturbed: " in (tmp_path / "report.html").read_text()


def test_aggregates_do_not_tell_which_share_of_the_steps_was_disturbed(tmp_path):
    """Their `iterations` are the repetitions."""
    document = made_up_run.document(workloads=("alexnet",))
    rows = [row | {"iterations": 100, "disturbed_steps": 25} for row in document["benchmarks"]]
    rows = [row for row in made_up_run.repeated(rows) if row["run_type"] == "aggregate"]
    run = made_up_run.write(tmp_path / "run.json", document | {"benchmarks": rows})
    result = report(run, "-o", tmp_path / "report.html")
    assert result.returncode == 0, result.stderr
    assert "were disturbed: " not in (tmp_path / "report.html").read_text()


def test_profiled_steps_that_are_too_short_are_mentioned(tmp_path):
    document = made_up_run.document(workloads=("memnet",))
    document["benchmarks"][0]["real_time"] *= 2
    run = made_up_run.write(tmp_path / "run.json", document)
    report(run, "-o", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "<li>1 of 2 profiled steps is more than 10 % shorter than the timed step" in page


def test_peaks_that_do_not_scale_are_mentioned(tmp_path):
    peaks = {"peak_flops_cpu_threads2_fp32": "144 GFLOP/s, oneDNN GEMM"}
    document = made_up_run.document(workloads=("memnet",), threads=(1, 2), **peaks)
    run = made_up_run.write(tmp_path / "run.json", document)
    report(run, "-o", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert (
        "<li>The measured fp32 peak of 2 threads is only 1.44 times the peak of one thread" in page
    )


def test_wrong_usage(tmp_path):
    result = report("-o", tmp_path / "report.html")
    assert result.returncode == 2 and "FILE" in result.stderr
    assert report("--help").returncode == 0


def test_works_from_any_folder_and_through_a_link(tmp_path):
    link = tmp_path / "my report"
    link.symlink_to(ROOT / "results/report")
    run = made_up_run.write(tmp_path / "a run.json", made_up_run.document(workloads=("memnet",)))
    result = subprocess.run([link, run.name], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0 and result.stdout.startswith("report.html: ")
    assert (tmp_path / "report.html").exists()


def test_without_network_the_error_is_one_line(tmp_path):
    environment = os.environ | {"FATHOM_DEPS_DIR": str(tmp_path), "PIP_RETRIES": "0"}
    environment |= {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_CONFIG_FILE": os.devnull}
    result = report("run.json", env=environment)
    assert result.returncode == 2 and result.stdout == ""
    downloading, error = result.stderr.splitlines()
    assert downloading.startswith("Downloading pandas, SciPy, Matplotlib")
    assert error.startswith("report: ") and "Start again with network" in error
    assert os.listdir(tmp_path) == ["results.lock"]


def test_packages_of_a_python_that_is_gone_are_installed_again(tmp_path):
    pins = ROOT / "cmake/wheels/wheels-results.txt"
    (tmp_path / "results/bin").mkdir(parents=True)
    (tmp_path / "results/bin/python").symlink_to("/nothing/python3.10")
    (tmp_path / "results" / hashlib.sha256(pins.read_bytes()).hexdigest()).touch()
    environment = os.environ | {"FATHOM_DEPS_DIR": str(tmp_path), "PIP_NO_INDEX": "1"}
    result = report(
        "run.json", env=environment | {"PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}
    )
    assert result.stderr.startswith("Downloading pandas, SciPy, Matplotlib")
