"""A process that is stopped while a row is timed: the row is measured again, or marked."""

import os
import pathlib
import signal
import subprocess
import time

from program import PROGRAM, QUICK, read_json

STEP = "memnet/infer/device:cpu/threads:1/batch:32/precision:fp32/backend:torch"
MIN_SECONDS = 2
STOPPED_SECONDS = 4  # longer than the row can wait for a CPU


class Run:
    """A started run of one row, and the place of its files."""

    def __init__(self, out):
        self.out = out
        longer = f"--benchmark_min_time={MIN_SECONDS}"
        only = [*QUICK, longer, f"--benchmark_filter=^{STEP}", "--fathom_machine_check=off"]
        self.process = subprocess.Popen(
            [PROGRAM, *only, f"--benchmark_out={self.out}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().split()
        return sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")

    def stop(self, seconds):
        os.kill(self.process.pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(self.process.pid, signal.SIGCONT)

    def finish(self):
        _, errors = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, errors
        (row,) = read_json(self.out)["benchmarks"]
        return row, [line for line in errors.splitlines() if "stood still" in line]


def quiet_run(out):
    """A row, and the CPU time at which half of its last pass is done: start-ups differ."""
    quiet = Run(out)
    used = 0
    while quiet.process.poll() is None:
        used = max(used, quiet.cpu_seconds())
        time.sleep(0.02)
    row, lines = quiet.finish()
    assert not lines, "nobody has stopped it"
    return row, used - row["iterations"] * row["cpu_time"] * 1e-6 / 2


def test_a_row_during_which_the_process_was_stopped_is_measured_again(tmp_path):
    quiet, moment = quiet_run(tmp_path / "quiet.json")
    stopped = Run(tmp_path / "out.json")
    while stopped.process.poll() is None and stopped.cpu_seconds() < moment:
        time.sleep(0.01)
    stopped.stop(STOPPED_SECONDS)
    row, lines = stopped.finish()
    (line,) = lines
    assert line.startswith(f"fathom_bench: {STEP}: this process stood still for ")
    assert "it is measured again" in line
    assert "standstill_us" not in row
    assert row["real_time"] < 2 * quiet["real_time"], "with the stop it is three times as long"


def test_a_row_that_stands_still_each_time_is_marked(tmp_path):
    run = Run(tmp_path / "out.json")
    while run.process.poll() is None:
        time.sleep(0.15)
        run.stop(0.45)
    row, lines = run.finish()
    assert len(lines) == 3 and "3 tries" in lines[-1]
    assert row["standstill_us"] > 0.2 * row["real_time"]
