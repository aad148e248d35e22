"""Writes the result as JSON."""

import json
import math

from fathom_gate import words
from fathom_gate.shift import percent


def text(comparison):
    """One JSON object. docs/gate.md lists its fields."""
    verdicts = comparison.verdicts
    made = {
        "verdict": words.summary(verdicts),
        "regressed": verdicts.regressed,
        "base": run(comparison.base),
        "new": run(comparison.new),
        "notes": comparison.notes,
        "rows": [of_row(row, comparison) for row in verdicts.rows],
        "untested": verdicts.untested,
        "added": verdicts.added,
        "vanished": [{"name": name, "reason": why} for name, why in verdicts.vanished.items()],
        "failed": [{"name": name, "reason": why} for name, why in verdicts.failed.items()],
    }
    return json.dumps(made, indent=1, allow_nan=False) + "\n"


def run(rows):
    known = {key: rows.context[key] for key in ("date", "git_commit") if key in rows.context}
    return {"file": str(rows.path)} | known


def of_row(row, comparison):
    made = {
        "name": row.name,
        "kind": row.kind,
        "fails": row.fails,
        "class": row.row_class.value,
        "base_us": row.base_us,
        "new_us": row.new_us,
        "repetitions": row.repetitions,
        "change_pct": row.percent,
    }
    if math.isfinite(row.shift.low):
        made["change_low_pct"] = percent(row.shift.low)
        made["change_high_pct"] = percent(row.shift.high)
    made |= {"p": row.shift.p, "q": row.q, "min_change_pct": percent(row.floor)}
    if row.name in comparison.causes:
        made["causes"] = [
            {
                "op_type": cause.op_type,
                "base_us": cause.base_us,
                "new_us": cause.new_us,
                "share": cause.share,
                "changed": cause.changed,
            }
            for cause in comparison.causes[row.name]
        ]
    return made
