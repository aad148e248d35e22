"""results/against_gloo.py, and steps of PyTorch on several ranks."""

import os
import re
import subprocess
import sys

import pytest
from eager_steps.ranks import share
from program import PROGRAM, ROOT, cores, starts
from torch_python import torch_environment, torch_python

needs_two_cores = pytest.mark.skipif(cores() < 2, reason="two ranks need two cores")

# Weights and biases in fp32: the mean's and the logarithm's of 784 x 200, the decoder's of 200 x 784.
AUTOENC = {
    "gradients": 4 * (2 * (784 * 200 + 200) + 200 * 784 + 784),
    "bucket0": 4 * (784 * 200 + 200 + 200 * 784 + 784),
    "bucket1": 4 * (784 * 200 + 200),
}

SAME_PARAMETERS = """
from eager_steps.ranks import run_on_ranks

def compare(row, mode):
    import os, torch
    from eager_steps.timing import built

    step = built(torch, row, mode)
    for _ in range(3):
        step()
    own = torch.cat([one.detach().flatten() for one in step.net.parameters()])
    of_both = [torch.empty_like(own) for _ in range(2)]
    torch.distributed.all_gather(of_both, own)
    assert torch.equal(*of_both), row
    gradients = [one.grad for one in step.net.parameters() if one.dim() == 4]
    layout = torch.channels_last if mode == "channels_last" else torch.contiguous_format
    assert all(one.is_contiguous(memory_format=layout) for one in gradients), row
    assert len(os.sched_getaffinity(0)) == CORES // 2 + CORES % 2 * torch.distributed.get_rank()

CORES = len(__import__("os").sched_getaffinity(0))
if __name__ == "__main__":
    run_on_ranks(2, compare, "memnet/train", "eager")
    run_on_ranks(2, compare, "deepq/train", "channels_last")
"""


def run_python(*arguments):
    command = [torch_python(), *arguments]
    return subprocess.run(
        command, env=torch_environment(), capture_output=True, text=True, timeout=300
    )


@needs_two_cores
def test_every_all_reduce_is_compared():
    options = ["--workloads", "memnet", "autoenc", "--rounds", "1", "--seconds", "0.01"]
    done = run_python(ROOT / "results/against_gloo.py", "--program", PROGRAM, *options)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    expected = ["memnet/gradients, 7200 bytes, 2 ranks", "memnet/bucket0, 7200 bytes, 2 ranks"]
    expected += [f"autoenc/{what}, {size} bytes, 2 ranks" for what, size in AUTOENC.items()]
    assert [line.partition(":")[0] for line in lines] == expected
    number = r"[0-9.]+"
    for line in lines:
        assert re.search(rf": {number} ms against {number} ms, ratio {number} \(", line)


def test_a_program_that_fails_is_named():
    result = starts(sys.executable)(ROOT / "results/against_gloo.py", "--program", "/bin/false")
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr.startswith("against_gloo: exit code 1 of /bin/false --benchmark_filter=")


def test_ranks_share_the_cpus_as_the_program_does():
    assert [share([0, 1, 2, 3, 8], rank, 2) for rank in (0, 1)] == [[0, 1], [2, 3, 8]]
    assert share([4], 1, 2) == [4]


@needs_two_cores
def test_steps_of_ranks_average_their_gradients(tmp_path):
    script = tmp_path / "same_parameters.py"
    script.write_text(SAME_PARAMETERS)
    done = run_python(script)
    assert done.returncode == 0, done.stderr
