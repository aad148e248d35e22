"""Every figure of the report."""

from fathom_report.fathom import cumulative, heat_map, likeness, modes, scaling, stationarity
from fathom_report.ours import cache, roofline, sums, tax
from fathom_report.tbd import below_average, memory, throughput, utilisation

# In the order of the page: the papers' figures as they come there, then our own.
MODULES = (stationarity, cumulative, heat_map, likeness, modes, scaling)
MODULES += (throughput, utilisation, memory, below_average)
MODULES += (roofline, tax, cache, sums)


def figures(run):
    """A Figure or a Missing of each module."""
    return [module.figure(run) for module in MODULES]
