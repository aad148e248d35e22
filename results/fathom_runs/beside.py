"""Files that fathom_bench writes beside a file of --benchmark_out. All of them may be gzip files."""

import os

from fathom_runs.source import GZIP, unpacked

ERRORS, SAMPLES = ".errors.jsonl", ".samples.jsonl"
# A killed run can leave `.part`, which was to replace the run, and `.lock`.
SUFFIXES = (ERRORS, ".explain.json", ".kernels.json", SAMPLES, ".part", ".lock")


def beside(path, suffix):
    """The path of the file with this suffix beside a run; of the gzip file if there is only that."""
    run = unpacked(path)
    plain = run.with_name(run.name + suffix)
    packed = plain.with_name(plain.name + GZIP)
    return packed if os.path.exists(packed) and not os.path.exists(plain) else plain


def is_beside(path):
    """Whether the name is one of a file beside a run. The run may be lost."""
    return unpacked(path).name.endswith(SUFFIXES)
