"""The largest p of a change, so that a page of noise has a false change at a known rate at most.

Any run but the first can begin a level, so a row has one test fewer than runs. The rate is divided by the tests
(Bonferroni), in parts for three kinds, so that thousands of ops do not hide the steps.
"""

RATE = 0.05  # of pages without any change that show one
STEPS, OTHERS, PROFILES = "times of steps", "times of other rows", "profiles of steps"
PARTS = {STEPS: 2, OTHERS: 1, PROFILES: 1}  # of the rate


def kind(series):
    return STEPS if series.kind == "step" else OTHERS


def limits(machines):
    """The largest p by kind, for the kinds that the machines of a page have."""
    tests = {}
    for machine in machines:
        for series in machine.series:
            tests[kind(series)] = tests.get(kind(series), 0) + len(series.known) - 1
        for types in machine.types.values():
            profiled = {run for one in types.values() for run in one.known}
            tests[PROFILES] = tests.get(PROFILES, 0) + len(profiled) - 1
    parts = sum(PARTS[name] for name in tests)
    return {name: RATE * PARTS[name] / parts / max(count, 1) for name, count in tests.items()}
