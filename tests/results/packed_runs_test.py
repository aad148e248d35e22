"""All programs in results/ read and write gzip files."""

import gzip
import json
import re

import made_up_ranks
import made_up_run as made_up
import pytest
from program import export, gate, predict, report

from fathom_runs.benchmarks import read
from fathom_runs.source import RunError, text_of


# --- reading


@pytest.mark.parametrize("name", ["run.json.gz", "run.json"])
def test_a_gzip_file_is_read_like_its_content(tmp_path, name):
    document = made_up.document(workloads=("memnet",))
    plain = made_up.write(tmp_path / "plain.json", document)
    file = tmp_path / name
    file.write_bytes(gzip.compress(plain.read_bytes()))
    assert read(file) == read(plain)


def test_a_gzip_file_of_several_members_is_read_to_its_end(tmp_path):
    parts = [bytes([letter]) * 5_000_000 for letter in b"abc"]
    file = tmp_path / "run.json.gz"
    file.write_bytes(b"".join(map(gzip.compress, parts)))
    assert text_of(file) == b"".join(parts).decode()


GOOD = gzip.compress(json.dumps(made_up.document(workloads=("memnet",))).encode())


@pytest.mark.parametrize(
    "data, found",
    [
        (GOOD[:-100], "ended before the end-of-stream marker"),
        (GOOD[:-8] + b"CRC!" + GOOD[-4:], "CRC check failed"),
        (GOOD[:10] + b"\xff" * 50 + GOOD[60:], "Error -3"),
        (b'{"context": {}}', "Not a gzipped file"),
    ],
    ids=["cut", "another CRC", "other bytes", "not packed"],
)
def test_a_broken_gzip_file_is_refused(tmp_path, data, found):
    file = tmp_path / "run.json.gz"
    file.write_bytes(data)
    with pytest.raises(RunError) as error:
        read(file)
    message = str(error.value)
    assert message.startswith(f"{file}: is broken (") and found in message
    assert message.endswith("expected a complete gzip file") and "\n" not in message


# --- files beside a run


def test_the_gate_reads_packed_failures_beside_a_packed_run(tmp_path):
    rows = list(made_up.repeated([made_up.row(made_up.step_name("vgg"), 500)], [1] * 9))
    base = made_up.write(tmp_path / "base.json.gz", {"context": {}, "benchmarks": rows})
    lost = made_up.row(made_up.step_name("memnet"), 900)
    rows += made_up.repeated([lost], [1] * 9)
    both = made_up.write(tmp_path / "both.json.gz", {"context": {}, "benchmarks": rows})
    failure = json.dumps({"name": lost["run_name"], "repetition": 0, "reason": "no memory"})
    made_up.write(tmp_path / "base.json.errors.jsonl.gz", [failure])
    assert "no memory" in gate(both, base).stdout


def test_the_report_reads_samples_beside_a_packed_run(tmp_path):
    run = made_up.write(tmp_path / "run.json.gz", made_up.document(workloads=("alexnet",)))
    without = report(run, "-o", tmp_path / "report.html").stdout
    assert re.search("not shown: .*fathom-1", without)
    for suffix in ("", ".gz"):
        samples = made_up.write(tmp_path / f"run.json.samples.jsonl{suffix}", made_up.samples())
        assert "fathom-1" not in report(run, "-o", tmp_path / "report.html").stdout
        samples.unlink()


# --- names and writing


def test_a_report_names_packed_files_without_extensions(tmp_path):
    rows = made_up_ranks.rows(("memnet",), (1, 2), ops=False)
    files = [tmp_path / f"{name}.json.gz" for name in ("loopback", "1gbit")]
    for file in files:
        made_up.write(file, made_up.document(workloads=("memnet",), extra=rows))
    assert report(*files, "-o", tmp_path / "report.html").returncode == 0
    text = (tmp_path / "report.html").read_text()
    assert "loopback" in text and "1gbit" in text and "loopback.json" not in text


def test_the_commands_of_the_rank_model_name_the_unpacked_file(tmp_path):
    rows = made_up_ranks.rows(("vgg",), (1,))
    file = made_up.write(tmp_path / "run.json.gz", {"context": {}, "benchmarks": rows})
    page = predict(file, "--ranks").stdout
    assert "--benchmark_out=run.json\n" in page and "run.json.gz" not in page


def test_an_output_with_gz_is_a_gzip_file_without_a_time(tmp_path):
    run = made_up.write(tmp_path / "run.json", made_up.document(workloads=("memnet",)))
    made = []
    for name in ("medians.json", "medians.json.gz"):
        assert export("medians", run, "-o", tmp_path / name).returncode == 0
        made.append((tmp_path / name).read_bytes())
    assert gzip.decompress(made[1]) == made[0]
    assert made[1][4:8] == bytes(4), "the same text gives the same bytes"
