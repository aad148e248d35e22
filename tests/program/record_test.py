"""--fathom_record writes the op shapes of workloads."""

import os
import pty
import subprocess

from program import PROGRAM, run


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


def test_a_filter_without_a_step_is_3(tmp_path):
    folder = tmp_path / "shapes"
    result = run(f"--fathom_record={folder}", "--benchmark_filter=^op/matmul/vgg")
    assert result.returncode == 3 and result.stderr.count("\n") == 1
    assert "no step matches the filter" in result.stderr and not folder.exists()


def test_a_folder_that_cannot_be_made_is_2(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    result = run(f"--fathom_record={file / 'folder'}", "--benchmark_filter=^memnet/infer")
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert "no such folder, and none can be made" in result.stderr
