"""Writes the result as JSON."""

import json
import math

from fathom_gate import words
from fathom_gate.rates import alone
from fathom_gate.shift import percent
from fathom_runs.source import shown


def text(comparison):
    """One JSON object. docs/gate.md lists its fields."""
    verdicts = comparison.verdicts
    made = {
        "verdict": words.summary(verdicts),
        "regressed": verdicts.regressed,
        "exit_code": verdicts.exit_code,
        "undecided": len(verdicts.undecided),
        "base": run(comparison.base),
        "new": run(comparison.new),
        "notes": comparison.notes,
        "error_rates": error_rates(comparison.rates),
        "rows": [of_row(row, comparison) for row in verdicts.rows],
        "untested": verdicts.untested,
        "added": verdicts.added,
        "vanished": [{"name": name, "reason": why} for name, why in verdicts.vanished.items()],
        "failed": [
            {"name": name, "reason": why, "fails": name not in verdicts.failed_before}
            for name, why in verdicts.failed.items()
        ],
    }
    return json.dumps(made, indent=1, allow_nan=False) + "\n"


def run(rows):
    known = {key: rows.context[key] for key in ("date", "git_commit") if key in rows.context}
    return {"file": shown(rows.path)} | known


def error_rates(found):
    """Percentages of made-up comparisons."""
    if found is None:  # nothing can be judged
        return {"judged_by": "repetitions alone", "false_slower_pct": alone()["false_pct"]}
    worst, usual = found.by_noise[found.worst_noise], found.usual
    made = {"judged_by": found.judged, "false_slower_pct": usual["false_pct"]}
    made |= {"worst_false_slower_pct": worst["false_pct"], "worst_noise": found.worst_noise}
    made |= {"found_5_pct": usual["found_pct"], "found_90_pct": found.found_90_pct}
    return {key: value for key, value in made.items() if value is not None}


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
    made |= {"p": row.shift.p, "q": row.q}
    limits = {
        "change_low_pct": row.shift.low,
        "change_high_pct": row.shift.high,
        "min_change_pct": row.floor,
    }
    made |= {key: percent(value) for key, value in limits.items() if math.isfinite(value)}
    if more := comparison.more_rounds.get(row.name):
        made["more_rounds"] = more
    if row.is_slower and row.waiver:
        made["waiver"] = {
            "ceiling_pct": row.waiver.ceiling,
            "until": str(row.waiver.until),
            "reason": row.waiver.reason,
        }
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
