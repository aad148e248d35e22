"""Pairs the rows of two sides by name."""

from dataclasses import dataclass

import pandas as pd

from fathom_compare import interval
from fathom_compare.selection import usual
from fathom_compare.sides import Side
from fathom_page import hints
from fathom_runs.names import kind, tokens
from fathom_runs.rows import row_of
from fathom_runs.source import RunError

NAMES = ["name", "workload", "mode", "type", "op_class", "layer", "pass_", "device", "threads"]
NAMES += ["other_threads", "ranks", "batch", "precision", "cache", "backend"]
SPEED_UP = ["base_us", "other_us", "speedup", "low", "high", "change_pct"]
SPEED_UP += ["base_files", "other_files", "base_repetitions", "other_repetitions"]
# Fields of both sides, by kind of row. All but the label are numbers.
BOTH = {
    "step": ("flops_pct_peak", "bytes_pct_peak", "label"),
    "inside": ("pct_of_step",),
    "op": ("flops", "bytes", "flops_pct_peak", "bytes_pct_peak", "label"),
}


@dataclass(frozen=True)
class Comparison:
    """Tables with one row per pair. `base_` and `other_` begin the columns of a side, `speedup` is base / other."""

    base: Side
    other: Side
    key: str  # end of all ids of its part of the page
    steps: pd.DataFrame
    op_types: pd.DataFrame
    ops: pd.DataFrame  # without rows of several ranks

    def command(self, rows, *options):
        """The command that measures rows of the workloads of the base. `rows` are filters of fathom_page.hints."""
        files = [path for side in (self.base, self.other) for path in side.contexts]
        names = [name.split("/") for name in self.base.benchmarks if kind(name) != "other"]
        workloads = [parts[2] if parts[0] == "op" else parts[0] for parts in names]
        return hints.command(workloads, files, rows, *options)

    @property
    def words(self):
        return f"{self.other.letter} against {self.base.letter}"

    def lettered(self, frame):
        """The table with the sides' letters in the names of its columns."""
        letters = {"base": self.base.letter, "other": self.other.letter}
        names = {}
        for column in frame:
            side, _, rest = column.partition("_")
            if side in letters:
                names[column] = f"{letters[side]}_{rest}"
        return frame.rename(columns=names)


def compare(base, other, key):
    """Pairs all rows of two sides. Raises RunError if they share none."""
    rows = {kind: [] for kind in BOTH}
    for name, one in base.benchmarks.items():
        if name in other.benchmarks and is_compared(name):
            rows[kind(name)].append(pair(base, other, one, other.benchmarks[name]))
    for one, twin in at_most_threads(base, other):
        rows[kind(one.name)].append(pair(base, other, one, twin))
    if not any(rows.values()):
        command = next(iter(base.contexts.values())).get("command_line", "")
        raise RunError(
            f"{other.path}: has no step and no op of {base.path}, expected rows with the same names"
            + (f"; those come from {command}" if command else "")
        )
    steps, op_types, ops = (frame(found, kind) for kind, found in rows.items())
    is_usual = usual(steps if len(steps) else op_types, base.catalogue | other.catalogue)
    steps, op_types = (table.assign(usual=is_usual(table)) for table in (steps, op_types))
    return Comparison(base, other, key, steps, op_types, ops)


def is_compared(name):
    return kind(name) in BOTH and not (kind(name) == "op" and "ranks" in tokens(name))


def at_most_threads(base, other):
    """Yields pairs of CPU steps, and of op types in them, at the most threads of each side, if these counts differ."""
    most = [most_threads(side) for side in (base, other)]
    if None in most or most[0] == most[1]:
        return
    old, new = (f"/device:cpu/threads:{count}/" for count in most)
    for name, one in base.benchmarks.items():
        twin = other.benchmarks.get(name.replace(old, new))
        if (
            old in name
            and kind(name) in ("step", "inside")
            and "ranks" not in tokens(name)
            and twin
        ):
            yield one, twin


def most_threads(side):
    names = [name for name in side.benchmarks if kind(name) == "step" and "/device:cpu/" in name]
    counts = [tokens(name)["threads"] for name in names if "ranks" not in tokens(name)]
    return max(map(int, counts), default=None)


def pair(base, other, one, twin):
    """The row of two benchmarks."""
    values, twins = (
        row_of(side.path, benchmark, side.catalogue)
        for side, benchmark in ((base, one), (other, twin))
    )
    low, high = interval.of_speedup(base.runs[one.name], other.runs[twin.name])
    made = {key: values[key] for key in NAMES if key in values}
    made |= {
        "other_threads": twins["threads"],
        "base_us": one.us,
        "other_us": twin.us,
        "speedup": one.us / twin.us,
        "low": low,
        "high": high,
        "change_pct": 100 * (twin.us - one.us) / one.us,
        "base_files": len(base.runs[one.name]),
        "other_files": len(other.runs[twin.name]),
        "base_repetitions": len(one.entries),
        "other_repetitions": len(twin.entries),
    }
    for key in BOTH[kind(one.name)]:
        made |= {f"base_{key}": values.get(key), f"other_{key}": twins.get(key)}
    return made


def frame(rows, kind):
    both = [f"{side}_{key}" for key in BOTH[kind] for side in ("base", "other")]
    table = pd.DataFrame(rows, columns=[*NAMES, *SPEED_UP, *both])
    numbers = [column for column in [*SPEED_UP, *both] if not column.endswith("_label")]
    return table.assign(**{column: pd.to_numeric(table[column]) for column in numbers})
