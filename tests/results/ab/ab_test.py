"""results/ab: runs two programs alternately, here fake programs with given times."""

import os
import re
import signal
import subprocess
import time

import pytest
from fake_program import fake, waived
from program import PROGRAM, ROOT, ab, read_json

from fathom_ab.merge import repetitions


@pytest.fixture
def programs(tmp_path):
    return fake(tmp_path / "a", BM_fast=10, BM_slow=20), fake(
        tmp_path / "b", BM_fast=10, BM_slow=22
    )


def test_the_slower_program_is_found_on_a_drifting_machine(tmp_path, programs):
    result = ab(*programs, "-o", tmp_path / "out")
    assert result.returncode == 1, result.stderr
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("SLOWER")]
    assert line.split()[1] == "BM_slow"
    assert 8 < float(re.search(r"\+([\d.]+) %", line)[1]) < 12
    assert result.stdout.splitlines()[-1] == "regression: 1 row slower"


def test_the_same_program_passes(tmp_path, programs):
    result = ab(programs[0], programs[0], "-o", tmp_path / "out")
    assert result.returncode == 0 and result.stdout.splitlines()[-1] == "no regression"


def test_a_waived_row_passes(tmp_path, programs):
    waivers = waived(tmp_path / "waivers.toml", "BM_slow")
    result = ab(*programs, "-o", tmp_path / "out", waivers, f"--json={tmp_path}/verdict.json")
    assert result.returncode == 0, result.stdout + result.stderr
    assert read_json(tmp_path / "verdict.json")["verdict"] == "no regression; 1 row waived"


@pytest.mark.parametrize(
    "row, until, found",
    [
        ("BM_slow", "2020-01-31", "waiver 1: expired on 2020-01-31 ('BM_slow'), expected"),
        ("BM_solw", "2999-12-31", "waiver 1: no run has the row 'BM_solw', expected"),
    ],
)
def test_wrong_waivers_are_refused_before_the_first_run(tmp_path, programs, row, until, found):
    waivers = waived(tmp_path / "waivers.toml", row, until)
    result = ab(*programs, "-o", tmp_path / "out", waivers)
    assert result.returncode == 2 and found in result.stderr
    assert not (tmp_path / "log").exists()


def test_programs_alternate_row_by_row(tmp_path, programs):
    ab(*programs, "-o", tmp_path / "out", "--rounds=4")
    runs = (tmp_path / "log").read_text().split("\n")[:-1]
    assert runs == [f"{name} {row}" for row in ("BM_fast", "BM_slow") for name in "abbaabba"]


def test_only_noisy_rows_get_more_rounds(tmp_path):
    program = fake(tmp_path / "a", BM_fast=10, BM_noisy=10)
    other = fake(tmp_path / "b", BM_fast=10, BM_noisy=10)
    result = ab(program, other, "-o", tmp_path / "out", "--most-rounds=15")
    rows = [line.split()[1] for line in (tmp_path / "log").read_text().splitlines()]
    assert (rows.count("BM_fast"), rows.count("BM_noisy")) == (18, 30)
    document = read_json(tmp_path / "out/b.json")
    assert document["context"]["ab_rounds"] == "9 to 15"
    assert {row["repetitions"] for row in document["benchmarks"][-5:]} == {15}
    assert re.search(
        r"note: 1 row AMBIGUOUS: about \d+ more rounds would decide BM_noisy", result.stdout
    )
    assert result.returncode == 3, "one of two rows"


def test_files_have_the_format_of_google_benchmark(tmp_path, programs):
    ab(*programs, "-o", tmp_path / "out", "--rounds=4", "--", "--benchmark_min_time=0.1")
    document = read_json(tmp_path / "out/a.json")
    names = [row["name"] for row in document["benchmarks"]]
    aggregates = [f"BM_fast_{one}" for one in ("mean", "median", "stddev", "cv")]
    assert names[:8] == ["BM_fast"] * 4 + aggregates
    rows = document["benchmarks"][:8]
    assert [row["repetition_index"] for row in rows[:4]] == [0, 1, 2, 3]
    times = sorted(row["real_time"] for row in rows[:4])
    assert rows[5]["real_time"] == pytest.approx(sum(times[1:3]) / 2)
    assert rows[4]["real_time"] == pytest.approx(sum(times) / 4)
    assert rows[7]["aggregate_unit"] == "percentage" and 0 < rows[7]["real_time"] < 0.2
    assert {row["family_index"] for row in document["benchmarks"]} == {0, 1}
    context = document["context"]
    assert context["ab_rounds"] == "4" and context["ab_id"]
    assert context["command_line"].endswith("/a --benchmark_min_time=0.1")


@pytest.mark.parametrize(
    "given", [["--fathom_machine_check=warn"], ["--fathom_peaks=my.json"], ["--fathom_threads=1"]]
)
def test_options_of_the_user_replace_those_that_ab_adds(tmp_path, programs, given):
    """fathom_bench refuses an option that it gets twice."""
    result = ab(*programs, "-o", tmp_path / "out", "--rounds=4", "--", *given)
    assert result.returncode == 3 and result.stderr == "", "four rounds are too few for two rows"
    last = (tmp_path / "b.options").read_text().split()
    names = [option.partition("=")[0] for option in last]
    assert given[0] in last and len(set(names)) == len(names)
    assert {"--fathom_machine_check", "--fathom_peaks"} <= set(names)


def test_a_row_that_repeats_itself_has_one_time_per_round(tmp_path):
    program = fake(tmp_path / "a", BM_repeated=10)
    ab(program, program, "-o", tmp_path / "out", "--rounds=4")
    rows = read_json(tmp_path / "out/a.json")["benchmarks"][:5]
    assert [row.get("repetition_index") for row in rows] == [0, 1, 2, 3, None]
    assert all(row["real_time"] < 15 for row in rows), "the last repetition counts"


def test_an_op_type_that_a_round_lacks_keeps_the_numbers_of_its_rounds():
    step, op = ({"run_name": name, "real_time": 1.0} for name in ("step", "op"))
    merged = repetitions([[step, op], [step], [step, op]], family=0)
    rounds = [row.get("repetition_index") for row in merged if row["name"] == "op"]
    assert rounds == [0, 2] and {row["repetitions"] for row in merged} == {3}


def test_rows_with_ranks_are_rows_of_their_own(tmp_path):
    plain, two = "vgg/train/threads:1/batch:8", "vgg/train/threads:1/ranks:2/batch:8"
    programs = [fake(tmp_path / "a", **{plain: 10, two: 30})]
    programs.append(fake(tmp_path / "b", **{plain: 10, two: 60}))
    result = ab(*programs, "-o", tmp_path / "out", "--rounds=5")
    assert result.returncode == 1 and result.stdout.count("SLOWER  ") == 1
    rows = [line.split()[1] for line in (tmp_path / "log").read_text().splitlines()]
    assert (rows.count(plain), rows.count(two)) == (10, 10)
    assert re.search(rf"SLOWER +{two} ", result.stdout)


def test_rows_that_one_program_lacks_are_left_out(tmp_path, programs):
    more = fake(tmp_path / "more", BM_fast=10, BM_new=5)
    result = ab(programs[0], more, "-o", tmp_path / "out", "--rounds=4")
    assert result.returncode == 0
    assert {row["run_name"] for row in read_json(tmp_path / "out/b.json")["benchmarks"]} == {
        "BM_fast"
    }


def test_a_row_that_fails_is_reported_and_fails_the_gate(tmp_path, programs):
    broken = fake(tmp_path / "broken", BM_fast=10, BM_slow=None)
    result = ab(programs[0], broken, "-o", tmp_path / "out", "--rounds=4")
    assert result.returncode == 1
    assert (
        result.stderr.splitlines().count(f"ab: {broken}: BM_slow: exit code 1: no such device") == 1
    )
    assert "VANISHED  BM_slow: exit code 1: no such device" in result.stdout.splitlines()


def test_a_row_that_hangs_fails_and_the_others_run(tmp_path, programs):
    hangs = fake(tmp_path / "hangs", BM_hang=10, BM_fast=10)
    result = ab(hangs, hangs, "-o", tmp_path / "out", "--rounds=4", "--limit-seconds=3")
    line = f"ab: {hangs}: BM_hang: took longer than the 3 s of --limit-seconds"
    # Once per program; the other rounds are skipped.
    assert result.stderr.splitlines() == [line] * 2
    rows = read_json(tmp_path / "out/b.json")["benchmarks"]
    assert {row["run_name"] for row in rows} == {"BM_fast"}


@pytest.mark.parametrize(
    "arguments, found",
    [
        (
            ["a", "nowhere"],
            "No such file or directory, expected a program that uses Google Benchmark",
        ),
        (["a", "log"], "Permission denied, expected a program that uses Google Benchmark"),
        (["a", "other"], "has none of the 2 rows of"),
        (["a", "b", "--rounds=3"], "expected a number between 4, the fewest that can show"),
        (["a", "b", "--most-rounds=8"], "expected at least the 9 of --rounds"),
        (["a", "b", "--limit-seconds=soon"], "expected seconds between 1 and 1000000"),
        (["a"], "the following arguments are required: B"),
        (["a", "b", "--", "--benchmark_repetitions=3"], "expected --rounds=N"),
        (["a", "b", "--", "--benchmark_out=run.json"], "--benchmark_out: results/ab writes"),
    ],
)
def test_invalid_arguments_are_refused(tmp_path, programs, arguments, found):
    fake(tmp_path / "other", BM_other=1)
    (tmp_path / "log").write_text("")
    paths = [tmp_path / one if not one.startswith("-") else one for one in arguments]
    result = ab("-o", tmp_path / "out", *paths)
    assert result.returncode == 2 and found in result.stderr and result.stdout == ""


def test_an_interruption_leaves_complete_files(tmp_path):
    program = fake(tmp_path / "a", BM_fast=10, BM_hang=10)
    started = subprocess.Popen(
        [ROOT / "results/ab", program, program, "-o", tmp_path / "out", "--rounds=4"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # ignored in background jobs
    )
    while not (tmp_path / "out/b.json").exists():
        time.sleep(0.05)
    os.killpg(started.pid, signal.SIGINT)
    _, stderr = started.communicate(timeout=60)
    assert started.returncode == 130 and "interrupted" in stderr and "Traceback" not in stderr
    rows = read_json(tmp_path / "out/b.json")["benchmarks"]
    assert {row["run_name"] for row in rows} == {"BM_fast"}


def test_two_runs_of_the_real_program(tmp_path):
    row = "--benchmark_filter=^memnet/infer"
    result = ab(
        *(PROGRAM, PROGRAM, "-o", tmp_path / "out", "--rounds=4", "--"),
        *(row, "--fathom_threads=1", "--benchmark_min_time=0.01", "--fathom_profile"),
    )
    assert result.returncode in (0, 1, 3), result.stderr
    for name in "ab":
        document = read_json(tmp_path / f"out/{name}.json")
        rows = [row for row in document["benchmarks"] if row["run_type"] == "iteration"]
        steps = [row for row in rows if "/op:" not in row["name"]]
        assert len(steps) == 4 and len(rows) > 4
        assert "peak_flops_cpu_threads1_fp32" in document["context"]


@pytest.mark.parametrize(
    "name, reason",
    [
        ("BM_crash", "exit code 1: killed"),
        ("BM_error", "out of memory"),
        ("BM_nan", "real_time of BM_nan is 'NaN', expected a number of at least 0"),
    ],
)
def test_a_row_that_fails_leaves_the_others(tmp_path, name, reason):
    program = fake(tmp_path / "a", **{name: 10, "BM_fast": 10})
    result = ab(program, program, "-o", tmp_path / "out", "--rounds=5")
    lines = [line for line in result.stderr.splitlines() if line.startswith("ab: ")]
    assert len(lines) == 2, "one for each side"
    assert all(line.startswith(f"ab: {program}: {name}: ") and reason in line for line in lines)
    rows = read_json(tmp_path / "out/a.json")["benchmarks"]
    assert {row["run_name"] for row in rows} == {"BM_fast"}


def test_a_counter_that_is_no_number_is_left_out(tmp_path):
    program = fake(tmp_path / "a", BM_counter=10)
    ab(program, program, "-o", tmp_path / "out", "--rounds=4")
    rows = read_json(tmp_path / "out/a.json")["benchmarks"]
    assert len(rows) == 8 and not any("misses" in row for row in rows)


def test_a_program_of_which_every_row_fails_fails_the_gate(tmp_path):
    programs = fake(tmp_path / "a", BM_fast=10), fake(tmp_path / "b", BM_fast=None)
    result = ab(*programs, "-o", tmp_path / "out", "--rounds=5")
    assert result.returncode == 1, result.stderr
    assert "VANISHED  BM_fast: exit code 1: no such device" in result.stdout.splitlines()
