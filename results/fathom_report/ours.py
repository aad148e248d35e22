"""Our own figures: what holds steps and ops back."""

from fathom_report import ours_cache, ours_roofline, ours_sums, ours_tax


def figures(run):
    yield ours_roofline.roofline(run)
    yield ours_tax.framework_tax(run)
    yield ours_cache.hot_and_cold(run)
    yield ours_sums.step_sums(run)
