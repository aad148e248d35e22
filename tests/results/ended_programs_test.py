"""A closed pipe, as after `| head`, and Ctrl-C end the programs of results/ without a message."""

import os
import signal
import subprocess

import made_up_run as made_up
import pytest
from program import ROOT

# Commands that write more lines than a reader of the first one wants.
COMMANDS = [["report", "-o", "/dev/stdout"], ["export", "medians", "-o", "/dev/stdout"]]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_closed_pipe_gives_no_message(tmp_path, command):
    run = made_up.write(tmp_path / "run.json", made_up.document(workloads=("memnet",)))
    process = subprocess.Popen(
        [ROOT / "results" / command[0], *command[1:], run],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    assert process.stderr.read() == b"" and process.wait() == -signal.SIGPIPE


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_ctrl_c_gives_no_message(tmp_path, command):
    run = tmp_path / "run.json"
    os.mkfifo(run)
    process = subprocess.Popen(
        [ROOT / "results" / command[0], *command[1:], run],
        stderr=subprocess.PIPE,
        # Programs that a script starts in the background ignore Ctrl-C, and so would this one.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with open(run, "wb"):  # waits until the program reads it
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b"" and process.wait() == -signal.SIGINT
