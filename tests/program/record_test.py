"""--fathom_record writes the op shapes of workloads."""

import os
import pty
import subprocess

from program import PROGRAM


def test_an_interrupted_recording_keeps_the_earlier_file(tmp_path):
    earlier = tmp_path / "vgg.json"
    earlier.write_text("of an earlier recording")
    command = [PROGRAM, f"--fathom_record={tmp_path}", "--benchmark_filter=^vgg/"]
    terminal, stderr = pty.openpty()  # progress is shown on a terminal only
    with subprocess.Popen(command, stderr=stderr, env=os.environ | {"TERM": "xterm"}) as process:
        os.close(stderr)
        shown = b""
        while b"recording vgg" not in shown:
            shown += os.read(terminal, 1 << 16)
        process.kill()
    os.close(terminal)
    assert earlier.read_text() == "of an earlier recording"
