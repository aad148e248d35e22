"""The same content as JSON. docs/predict.md lists the fields."""

import json

from fathom_predict.errors import big, by_pair, median_size, nine_of_ten, worst
from fathom_runs.source import shown


def prediction(found):
    return text(
        {
            "run": shown(found.run_path),
            "machine": shown(found.there_name),
            "from": found.here.name,
            "to": found.there.name,
            "notes": found.notes,
            "steps": [of_step(one, found.errors) for one in found.predictions],
            "errors": summary(found.errors.cases),
            "errors_own_run": summary(found.errors.own_run),
        }
    )


def of_step(one, errors):
    within = errors.within(one.us, one.step.threads)
    return {
        "name": one.step.name,
        "here_us": one.step.us,
        "predicted_us": one.us,
        **({} if within is None else {"nine_of_ten_within_pct": 100 * within}),
        **{f"{part}_pct": share for part, share in one.shares.items()},
        "bound_by": one.bound,
        "split_by": one.source,
        "op_types": [
            {"op_type": each.op_type, "here_us": each.here_us, "predicted_us": each.there_us}
            for each in one.types
        ],
    }


def all_errors(errors):
    own = by_pair(errors.own_run)
    return text(
        {
            "errors": summary(errors.cases),
            "errors_own_run": summary(errors.own_run),
            "pairs": [
                {"from": here, "to": there, **summary(cases), "own_run": summary(own[here, there])}
                for (here, there), cases in by_pair(errors.cases).items()
            ],
            "steps": [
                {
                    "from": case.here,
                    "to": case.there,
                    "name": case.name,
                    "measured_us": case.measured_us,
                    "error_pct": 100 * case.error,
                    "error_own_run_pct": 100 * twin.error,
                }
                for case, twin in zip(errors.cases, errors.own_run)
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
    one = worst(cases)
    made |= {"worst_error_pct": 100 * one.error, "worst": one.name}
    if large := big(cases):
        one = worst(large)
        made |= {"big_steps": len(large), "median_error_of_big_pct": 100 * median_size(large)}
        made |= {"nine_of_ten_big_within_pct": 100 * nine_of_ten(large)}
        made |= {"worst_error_of_big_pct": 100 * one.error, "worst_of_big": one.name}
    return made


def text(made):
    return json.dumps(made, indent=1, allow_nan=False) + "\n"
