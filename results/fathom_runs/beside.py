"""Files that fathom_bench writes beside a file of --benchmark_out. All of them may be gzip files."""

from fathom_runs.source import GZIP, unpacked

ERRORS, SAMPLES = ".errors.jsonl", ".samples.jsonl"
SUFFIXES = (ERRORS, ".explain.json", ".kernels.json", SAMPLES)


def beside(path, suffix):
    """The path of the file with this suffix beside a run; of the gzip file if there is only that."""
    run = unpacked(path)
    plain = run.with_name(run.name + suffix)
    packed = plain.with_name(plain.name + GZIP)
    return packed if packed.exists() and not plain.exists() else plain


def is_beside(path, runs):
    """Whether the file lies beside one of the runs. `runs` are paths without `.gz`."""
    name = unpacked(path).name
    return any(
        name.endswith(suffix) and path.with_name(name.removesuffix(suffix)) in runs
        for suffix in SUFFIXES
    )
