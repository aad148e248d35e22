"""The figures of the Fathom paper (IISWC 2016)."""

from fathom_report import fathom_modes, fathom_profile, fathom_scaling, fathom_steps


def figures(run):
    """In the order of the paper."""
    yield fathom_steps.stationarity(run)
    yield from fathom_profile.figures(run)
    yield fathom_modes.train_and_infer(run)
    yield fathom_scaling.threads(run)
