"""results/fathom_runs/output.py: what -o may name."""

import os
import threading

import pytest

from fathom_runs.output import replace
from fathom_runs.source import RunError


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
