"""Formats tables for reading: headings with units, numbers with few digits."""

import math
import numbers
from dataclasses import dataclass

from markupsafe import Markup

from fathom_runs.words import BEYOND

UNITS = {"us": "µs", "ms": "ms", "s": "s", "pct": "%", "bytes": "bytes", "gb": "GB", "mb": "MB"}
UNITS |= {"gflops": "GFLOP/s"}
NAMES = {
    "us": "µs",
    "p50_us": "median, µs",
    "items_per_second": "samples/s",
    "flops": "FLOP/s",
    "bytes": "bytes/s",
    "flops_pct_peak": "% of peak FLOP/s",
    "bytes_pct_peak": "% of peak bytes/s",
    "pct_of_step": "% of step",
    "disturbed_steps": "disturbed steps",
    "in_steps": "in steps",
    "calls_per_model_step": "calls per training step",
    "calls_per_inference": "calls per inference",
    "calls_per_step": "calls per step",
    "op_class": "class",
    "pass_": "pass",
    "speedup": "speed-up",
    "low": "from",
    "high": "to",
}
# Columns of large numbers: new heading, and divisor.
SCALED = {
    "flops": ("GFLOP/s", 1e9),
    "bytes": ("GB/s", 1e9),
    "algbw": ("algbw, GB/s", 1e9),
    "busbw": ("busbw, GB/s", 1e9),
    "flops_per_step": ("GFLOP per step", 1e9),
}


@dataclass(frozen=True)
class Column:
    title: str
    mark: Markup  # HTML attribute of number columns, which aligns and sorts them


@dataclass(frozen=True)
class Table:
    columns: list[Column]
    rows: list[list[tuple[Column, str]]]


def heading(column):
    """The heading of a column, with its unit after a comma. A name of NAMES may follow other words."""
    for name, text in NAMES.items():
        if "_" in name.strip("_") and column.endswith(f"_{name}"):
            return f"{column.removesuffix(f'_{name}').replace('_', ' ')}, {text}"
    words = column.strip("_").split("_")
    unit = UNITS.get(words[-1]) if len(words) > 1 else None
    name = " ".join(words[:-1] if unit else words)
    return NAMES.get(column) or (f"{name}, {unit}" if unit else name)


def readable(frame):
    """Converts columns to readable units."""
    scales = {
        column: (column.removesuffix("_bytes") + "_mb", 1e6)
        for column in frame
        if column.endswith("_bytes")
    } | SCALED
    for column in scales.keys() & set(frame.columns):
        name, unit = scales[column]
        frame = frame.assign(**{column: frame[column] / unit}).rename(columns={column: name})
    return frame


def cell(value):
    """Formats a value: four digits, or all digits of a large number in groups. An unknown value is empty."""
    if value is None or isinstance(value, float) and math.isnan(value):
        return ""
    if isinstance(value, (str, bool)) or not isinstance(value, numbers.Real):
        return value
    if float(value).is_integer() or abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", "\u202f")
    return f"{value:.4g}"


def cell_of(column):
    """The function that formats the values of a column: shares of a peak are cut off where they are none."""
    if not column.endswith(("pct_peak", "pct_of_roof", "pct_of_peak", "roof_pct")):
        return cell
    return lambda value: f">{BEYOND}" if (value or 0) > BEYOND else cell(value)


def table(frame):
    """Formats a frame. Columns without values are left out."""
    frame = frame.loc[:, [c for c in frame if not frame[c].isna().all() and (frame[c] != "").any()]]
    number = Markup(' class="n"')
    columns = [
        Column(heading(name), number if frame[name].dtype.kind in "iuf" else Markup())
        for name in frame
    ]
    values = [map(cell_of(name), frame[name].tolist()) for name in frame]
    return Table(columns, [list(zip(columns, row)) for row in zip(*values)])


def csv(frame):
    """The frame as CSV, in full precision."""
    return frame.to_csv(index=False, lineterminator="\n")
