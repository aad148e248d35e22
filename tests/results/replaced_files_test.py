"""results/fathom_runs/output.py: what -o may name."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading

import made_up_run as made_up
import pytest
from program import ROOT

from fathom_runs.output import replace
from fathom_runs.source import RunError, text_of


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "pages").mkdir()
    page, link = tmp_path / "pages/page.html", tmp_path / "page.html"
    page.write_text("an earlier page")
    link.symlink_to(page)
    replace(link, "a page")
    assert link.is_symlink() and page.read_text() == "a page"
    assert os.listdir(page.parent) == [page.name]


def test_a_pipe_stays_and_its_reader_gets_the_text(tmp_path):
    pipe, found = tmp_path / "page.html", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()), daemon=True)
    reader.start()
    replace(pipe, "a page")
    assert pipe.is_fifo()
    reader.join(10)
    assert found == ["a page"]


def test_bytes_are_written_as_they_are(tmp_path):
    replace(tmp_path / "figure.png", b"\x89PNG")
    assert (tmp_path / "figure.png").read_bytes() == b"\x89PNG"


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(RunError) as error:
        replace(tmp_path, "a page")
    assert str(error.value) == f"{tmp_path}: Is a directory, expected a file in a writable folder"


@pytest.fixture(name="closed_folder")
def folder_that_takes_no_files():
    """For the user 65534, who can write `page.html` in it."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        page = pathlib.Path(name, "page.html")
        page.write_text("an earlier page that is longer")
        page.chmod(0o666)
        yield page


def as_another_user(work):
    """Calls `work` in a fork that is the user 65534. Returns whether it raised nothing."""
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setuid(65534)
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def test_a_file_in_a_folder_that_takes_no_files_is_written_in_place(closed_folder):
    before = closed_folder.stat().st_ino
    assert as_another_user(lambda: replace(closed_folder, "a page"))
    assert closed_folder.read_text() == "a page" and closed_folder.stat().st_ino == before
    assert as_another_user(lambda: replace(closed_folder, "a page that is longer"))
    assert closed_folder.read_text() == "a page that is longer"
    assert os.listdir(closed_folder.parent) == [closed_folder.name]


def test_a_full_disk_leaves_a_file_that_is_written_in_place(closed_folder):
    import resource

    def work():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        replace(closed_folder, "x" * 2000)

    assert not as_another_user(work)
    assert closed_folder.read_text() == "an earlier page that is longer"


def test_a_file_that_is_mounted_alone_is_written_in_place(tmp_path):
    if os.getuid() != 0 or not shutil.which("unshare"):
        pytest.skip("only root can mount a file")
    run = made_up.write(tmp_path / "run.json", made_up.document(workloads=("memnet",)))
    (tmp_path / "mounted").write_text("old")
    out = tmp_path / "medians.json"
    out.touch()
    script = (
        f"mount --bind {tmp_path}/mounted {out} && {ROOT}/results/export medians {run} -o {out}"
    )
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True)
    if "mount: " in done.stderr or "unshare: " in done.stderr:
        pytest.skip("this container allows no mounts")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "mounted").read_text())["benchmarks"]
    assert sorted(os.listdir(tmp_path)) == ["medians.json", "mounted", "run.json"]


def test_a_descriptor_gets_the_text_where_it_stands(tmp_path):
    run = made_up.write(tmp_path / "run.json", made_up.document(workloads=("memnet",)))
    log = tmp_path / "log"
    log.write_text("before\n")
    with log.open("a") as file:
        result = subprocess.run(
            [ROOT / "results/export", "medians", run, "-o", "/dev/stdout"],
            stdout=file,
            stderr=subprocess.PIPE,
            text=True,
        )
    first, _, document = log.read_text().partition("\n")
    assert first == "before" and json.loads(document)["benchmarks"]
    assert result.stderr.startswith("/dev/stdout: ")


def test_the_longest_name_is_written(tmp_path):
    page = tmp_path / ("x" * 255)
    replace(page, "a page")
    replace(page, "another page")
    assert page.read_text() == "another page"


def test_an_input_that_the_user_may_not_read_is_one_line(tmp_path):
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    run = made_up.write(closed / "run.json", made_up.document(workloads=("memnet",)))

    def work():
        with pytest.raises(RunError) as error:
            text_of(run)
        assert str(error.value) == f"{run}: Permission denied, expected a readable JSON file"

    assert as_another_user(work)
