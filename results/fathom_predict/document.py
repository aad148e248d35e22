"""The same content as JSON. docs/predict.md lists the fields."""

import json

from fathom_predict.errors import median_size, nine_of_ten, worst
from fathom_runs.source import shown


def prediction(found):
    return text(
        {
            "run": shown(found.run_path),
            "machine": shown(found.there_name),
            "from": found.here.name,
            "to": found.there.name,
            "notes": found.notes,
            "steps": [of_step(one) for one in found.predictions],
            "errors": summary(found.errors.cases),
        }
    )


def of_step(one):
    return {
        "name": one.step.name,
        "here_us": one.step.us,
        "predicted_us": one.us,
        **{f"{part}_pct": share for part, share in one.shares.items()},
        "bound_by": one.bound,
        "split_by": one.source,
        "op_types": [
            {"op_type": each.op_type, "here_us": each.here_us, "predicted_us": each.there_us}
            for each in one.types
        ],
    }


def all_errors(errors):
    return text(
        {
            "errors": summary(errors.cases),
            "pairs": [
                {"from": here, "to": there, **summary(cases)}
                for (here, there), cases in errors.pairs.items()
            ],
            "steps": [
                {
                    "from": case.here,
                    "to": case.there,
                    "name": case.name,
                    "measured_us": case.measured_us,
                    "error_pct": 100 * case.error,
                }
                for case in errors.cases
            ],
            "left_out": errors.left_out,
        }
    )


def summary(cases):
    """Empty without cases."""
    if not cases:
        return {}
    pairs = {(case.here, case.there) for case in cases}
    made = {
        "pairs": len(pairs),
        "steps": len(cases),
        "median_error_pct": 100 * median_size(cases),
    }
    big = [case for case in cases if case.is_big]
    if big:
        one = worst(big)
        made |= {"big_steps": len(big), "median_error_of_big_pct": 100 * median_size(big)}
        made |= {"nine_of_ten_big_within_pct": 100 * nine_of_ten(big)}
        made |= {"worst_error_of_big_pct": 100 * one.error, "worst_of_big": one.name}
    return made


def text(made):
    return json.dumps(made, indent=1, allow_nan=False) + "\n"
