"""What noise the rows of a machine have, and how often pages of such noise show a false change."""

import json
import pathlib

import numpy as np

from fathom_history.detection.limits import OTHERS, RATE, STEPS
from fathom_history.detection.noise import LEAST
from fathom_runs.words import listed, percent

# Shares of made-up pages with a false change, by noise: tests/results/history_trials.py --write.
RATES = json.loads(pathlib.Path(__file__).with_name("rates.json").read_text())
NORMAL, TAILS, MODES, CORRELATED, MUCH_CORRELATED, STICKY, DRIFT = RATES
SHARE = 0.1  # of the rows; fewer with a noise do not name it
BETWEEN = 0.65  # correlations above are more like 0.8 than 0.5
GAP = 4  # between two modes: times the standard deviation in the wider one
MANY = 10  # runs; fewer don't show how they vary
FAR = 4  # standard deviations from the level
OFTEN = 0.01  # of the runs; if so many are far, tails are heavy


def section(analysis):
    """Values for the template: sentences, and a list of noises with their rates."""
    found = noises(analysis)
    return {
        "words": " ".join(sentences(analysis, found)),
        "rates": [(name, percent(100 * share), name in found) for name, share in RATES.items()],
    }


def sentences(analysis, found):
    yield (
        f"Of pages without a change, at most {100 * RATE:g} % show one by chance if times vary independently from run "
        "to run, and normally."
    )
    if correlation := correlation_of(analysis):
        yield f"Here they correlate by {correlation:.2f} from run to run, for which p allows."
    elif sum(len(one.known) for one in analysis.machine.series) < LEAST:
        yield "Whether they correlate from run to run, so few times do not show."
    if not found:
        yield f"Fewer than {MANY} runs do not show how they vary here."
        return
    kinds = (f"{name} (of such pages {percent(100 * RATES[name])} show one)" for name in found)
    yield f"They resemble made-up noise: {listed(kinds)}."
    if max(RATES[name] for name in found) > RATE:
        yield "The method cannot hold its rate there: take a change as a hint."


def noises(analysis):
    """The noises of RATES that the steps resemble, or all rows if there are no steps. None of few runs."""
    steps = analysis.of_kind("step") or analysis.machine.series
    known = [one for one in steps if len(one.known) >= MANY]
    if not known:
        return []
    every = [analysis.found[one.name] for one in known]
    near = [residuals(*one) for one in zip(known, every)]
    found = []
    if correlation := correlation_of(analysis):
        found.append(MUCH_CORRELATED if correlation > BETWEEN else CORRELATED)
    if is_frequent(map(has_two_modes, near)):
        found.append(MODES)
    elif np.mean([far(one) for one in near]) > OFTEN:
        found.append(TAILS)
    if is_frequent(map(returns, every)):
        found.append(STICKY)
    if is_frequent(any(change.is_drift for change in one.changes) for one in every):
        found.append(DRIFT)
    return found or [NORMAL]


def correlation_of(analysis):
    return analysis.correlations[STEPS if analysis.of_kind("step") else OTHERS]


def is_frequent(flags):
    flags = list(flags)
    return sum(flags) > SHARE * len(flags)


def residuals(series, found):
    """All runs of a row, outliers too, each divided by the median of its level."""
    starts = np.searchsorted(series.known, [change.run for change in found.changes])
    levels = np.split(series.us[series.known], starts)
    return np.concatenate([level / np.median(level) for level in levels])


def has_two_modes(values):
    """Whether the values are two groups with a gap between them. Each has at least three of them, and a tenth."""
    count = len(values)
    least = max(3, count // 10)
    ordered = np.sort(values)
    cut = least + int(np.diff(ordered)[least - 1 : count - least].argmax())
    low, high = ordered[:cut], ordered[cut:]
    return bool(high[0] - low[-1] > GAP * max(low.std(), high.std()))


def far(values):
    """The share of values far from the median."""
    apart = abs(values - np.median(values))
    return float(np.mean(apart > FAR * 1.4826 * np.median(apart)))


def returns(found):
    """Whether a row comes back to an earlier level more than once."""
    return sum(change.back_to is not None for change in found.changes) > 1
