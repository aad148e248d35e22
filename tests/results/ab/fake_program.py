"""Made-up programs with given times, and waivers of their rows, for the tests in this folder."""

import sys

FAKE = '''#!{python}
"""A program with Google Benchmark's flags. Its rows report TIMES, and each run is a little slower."""
import json, pathlib, re, sys, time

TIMES = {times}
flags = dict(argument.partition("=")[::2] for argument in sys.argv[1:])
ours = [argument for argument in sys.argv if argument.startswith("--fathom_")]
if len(ours) > sum(flag.startswith("--fathom_") for flag in flags):
    sys.exit("At Most 1 required but received 2")
log = pathlib.Path(__file__).parent / "log"
if "--benchmark_list_tests" in flags:
    print(*TIMES, sep="\\n")
    sys.exit()
if "--help" in flags:
    print("--fathom_peaks=FILE --fathom_machine_check=warn|refuse|off")
    sys.exit()
(name,) = [name for name in TIMES if re.search(flags["--benchmark_filter"], name)]
with log.open("a") as file:
    file.write(pathlib.Path(__file__).name + " " + name + "\\n")
pathlib.Path(__file__ + ".options").write_text(" ".join(sys.argv[1:]))
turn = len(log.read_text().splitlines())
time.sleep(30 * (name == "BM_hang"))
if TIMES[name] is None:
    sys.exit("no such device")
if name == "BM_crash":  # after Google Benchmark has written the context
    pathlib.Path(flags["--benchmark_out"]).write_text('{{"context": {{}}, "benchmarks": [')
    sys.exit("killed")
us = TIMES[name] * (1 + 0.001 * (turn * 7 % 5)) * (1 + 0.005 * turn)
us *= 1 + (name == "BM_noisy") * (turn * 29 % 11)
us = float("nan") if name == "BM_nan" else us
row = {{"name": name, "run_name": name, "run_type": "iteration", "repetitions": 1, "repetition_index": 0}}
row |= {{"threads": 1, "iterations": 10, "real_time": us, "cpu_time": us, "time_unit": "us", "label": "fake"}}
row |= {{"misses": float("nan")}} if name == "BM_counter" else {{}}
rows = [row]
if name == "BM_repeated":  # by itself, so Google Benchmark adds aggregates
    rows = [row | {{"real_time": 2 * us}}, row, row | {{"run_type": "aggregate", "aggregate_name": "cv"}}]
if name == "BM_error":
    rows = [row | {{"error_occurred": True, "error_message": "out of memory"}}]
    print("CPU scaling is enabled", file=sys.stderr)
context = {{"date": "2026-01-01T00:00:00+00:00", "cpu": "Made-up CPU"}}
context["peak_bytes_cpu_threads1"] = "10 GB/s, read"
pathlib.Path(flags["--benchmark_out"]).write_text(json.dumps({{"context": context, "benchmarks": rows}}))
'''


def fake(path, **times):
    """Writes a program whose rows report these times in microseconds. None makes a row fail."""
    times = {name.replace("__", "/"): us for name, us in times.items()}
    path.write_text(FAKE.format(python=sys.executable, times=times))
    path.chmod(0o755)
    return path


def waived(path, row, until="2999-12-31"):
    """The option for a file with a waiver of a row."""
    path.write_text(f'[[waiver]]\nrow = "{row}"\nceiling = 20\nuntil = {until}\nreason = "known"\n')
    return f"--waivers={path}"
