"""cmake/git_commit.cmake writes the commit into the program."""

import os
import subprocess

from program import ROOT


def git(folder, *arguments):
    command = ["git", "-C", folder, "-c", "user.name=A", "-c", "user.email=a@b.c", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def header(folder, **variables):
    command = ["cmake", "-P", ROOT / "cmake/git_commit.cmake", folder, folder / ".git/commit.h"]
    subprocess.run(command, env=os.environ | variables, check=True)
    return (folder / ".git/commit.h").read_text()


def test_the_commit_of_another_users_folder_is_known(tmp_path):
    (tmp_path / "file").write_text("")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "--quiet", "--message=one")
    commit = git(tmp_path, "rev-parse", "HEAD")
    expected = f'#define FATHOM_GIT_COMMIT "{commit}"\n'
    assert header(tmp_path) == expected
    assert header(tmp_path, GIT_TEST_ASSUME_DIFFERENT_OWNER="1") == expected
    (tmp_path / "file").write_text("changed")
    assert header(tmp_path) == f'#define FATHOM_GIT_COMMIT "{commit}-dirty"\n'


def test_without_git_the_commit_is_unknown(tmp_path):
    (tmp_path / ".git").mkdir()
    assert header(tmp_path) == '#define FATHOM_GIT_COMMIT "unknown"\n'
