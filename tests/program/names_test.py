"""Names are an interface: whoever changes one changes tests/names.txt and lists it in docs/results.md.

A line of tests/names.txt is a family of names. {a,b} stands for a and for b; <row> stands for workload, layer and pass of
each row of the op type in ops/shapes/, <row without field> for those that do not set the field, <row of pass> for those of a
pass. Collectives have rows for the files with gradient buckets. To write the lines anew:
FATHOM_WRITE_NAMES=1 tests/run tests/program/names_test.py
"""

import difflib
import functools
import itertools
import json
import os
import re

import pytest

from program import ROOT, WITHOUT_GPU, run

FILE = ROOT / "tests/names.txt"
SUFFIX = "/process_time/real_time"
MOVES = ("all_gather", "reduce_scatter", "broadcast")
CPU_PRECISIONS = "fp32,bf16,fp16,int8,int8w,int4w,q8_0,q4_0"
VENDORS = {"onednn", "torch_packed"}  # some builds lack them, some CPUs their 16-bit rows
RECURRENT = {"gru", "gru_cell", "lstm", "lstm_cell"}  # which oneDNN lacks in fp16
AXES = (r"^\w+/(train|infer|generate)/", r"precision:(\w+)", r"backend:(\w+)")  # what braces hold


@functools.cache
def recorded():
    """Rows of ops/shapes/ by op type and by "workload/layer/pass"."""
    types = {}
    for file in sorted((ROOT / "ops/shapes").glob("*.json")):
        shapes = json.loads(file.read_text())
        for row in shapes["rows"]:
            key = f"{shapes['workload']}/{row['layer']}/{row['pass']}"
            types.setdefault(row["op"], {})[key] = row
            if row.get("routing") == "uniform":
                uneven = f"{shapes['workload']}/{row['layer']}_zipf/{row['pass']}"
                types[row["op"]][uneven] = row
        buckets = shapes.get("gradient_buckets", [])
        parts = ["gradients", *(f"bucket{place}" for place, _ in enumerate(buckets))]
        for op, layers in (("all_reduce", parts), *((op, ["parameters"]) for op in MOVES)):
            for layer in layers if buckets else []:
                types.setdefault(op, {})[f"{shapes['workload']}/{layer}/update"] = {}
    return types


def rows_without(op, field):
    return [key for key, row in recorded().get(op, {}).items() if not row.get(field)]


def rows_of(op, pass_):
    return [key for key in recorded().get(op, {}) if key.endswith(f"/{pass_}")]


def expanded(family):
    """The names of a family."""
    choices = []
    for part in re.split(r"(\{.*?\}|<.*?>)", family):
        if part.startswith("<row of "):
            choices.append(rows_of(family.split("/")[1], part[8:-1]))
        elif part.startswith("<row"):
            field = part.strip("<>").removeprefix("row").removeprefix(" without ")
            choices.append(rows_without(family.split("/")[1], field))
        else:
            choices.append(part.strip("{}").split(","))
    return ["".join(parts) + SUFFIX for parts in itertools.product(*choices)]


def row_of(op, keys):
    """What stands for the rows with these keys; the keys themselves where nothing does."""
    for field in ("", *sorted({field for row in recorded()[op].values() for field in row})):
        if set(keys) == set(rows_without(op, field)):
            return [f"<row without {field}>" if field else "<row>"]
    passes = dict.fromkeys(key.rsplit("/", 1)[1] for key in keys)
    whole = [one for one in passes if set(rows_of(op, one)) <= set(keys)]
    rest = [key for key in keys if key.rsplit("/", 1)[1] not in whole]
    return [f"<row of {one}>" for one in whole] + rest


def families(names):
    """The lines whose names these are."""
    lines, rows = [], {}
    for name in names:
        name = name.removesuffix(SUFFIX)
        if name.startswith("op/") and "<layer>" not in name:
            _, op, workload, layer, pass_, rest = name.split("/", 5)
            rows.setdefault((op, rest), []).append(f"{workload}/{layer}/{pass_}")
        else:
            lines.append(name)
    for (op, rest), keys in sorted(rows.items(), key=lambda one: one[0][0]):
        lines += [f"op/{op}/{row}/{rest}" for row in row_of(op, keys)]
    for axis in AXES:
        groups = {}
        for line in lines:
            found = re.search(axis, line)
            begin, end = found.span(1) if found else (len(line), len(line))
            groups.setdefault((line[:begin], line[end:]), []).append(line[begin:end])
        lines = [
            head + (f"{{{','.join(values)}}}" if len(values) > 1 else values[0]) + tail
            for (head, tail), values in groups.items()
        ]
    return lines


def listed_on(device, precisions, *options):
    """The program's names on a device. Those on a GPU need none."""
    options = [f"--fathom_device={device}", f"--fathom_precision={precisions}", *options]
    result = run("--benchmark_list_tests", *options, env=WITHOUT_GPU)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def backend(name):
    return name.rpartition("/backend:")[2].removesuffix(SUFFIX)


def without_layer(name):
    """The name of a quantised op without its workload and layer, which follow from the rows of matmul and conv2d."""
    return re.sub(r"^op/(quantize\w*|dequantize)/\w+/[\w-]+/", r"op/\1/<layer>/", name)


def listed():
    """The program's names, with those of 16 bits that some CPUs lack."""
    names = listed_on("cpu", CPU_PRECISIONS, "--fathom_threads=1", "--fathom_ranks=1")
    names += listed_on("cuda", "fp32,tf32,bf16,fp16,int8,fp8")
    vendor = [name for name in names if backend(name) in VENDORS]
    half = [name.replace("/precision:fp32/", "/precision:bf16/") for name in vendor]
    half += [
        name.replace("/precision:fp32/", "/precision:fp16/")
        for name in vendor
        if name.split("/")[1] not in RECURRENT
    ]
    return list(dict.fromkeys(names + half))


def test_names_are_the_committed_ones():
    names = list(dict.fromkeys(map(without_layer, listed())))
    lacking = VENDORS - set(map(backend, names))
    if "FATHOM_WRITE_NAMES" in os.environ:
        assert not lacking, "the file holds their rows"
        FILE.write_text("\n".join(families(names)) + "\n")
    lines = FILE.read_text().splitlines()
    committed = [name for line in lines for name in expanded(line)]
    committed = [name for name in committed if backend(name) not in lacking]
    assert len(committed) == len(set(committed)), "a name twice"
    wrong = [f"stands for no row: {line}" for line in lines if not expanded(line)]
    wrong += [f"missing: {name}" for name in sorted(set(committed) - set(names))]
    wrong += [f"new: {name}" for name in sorted(set(names) - set(committed))]
    if wrong:
        changes = difflib.unified_diff(lines, families(names), "committed", "now", n=0, lineterm="")
        pytest.fail("\n".join([*wrong[:20], f"({len(wrong)} in all)", *changes]), pytrace=False)


def test_names_fit_dashboards():
    for name in listed() + listed_on("cpu", "fp32"):
        assert name.endswith(SUFFIX)
        assert len(name) <= 155, name
