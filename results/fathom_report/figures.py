"""All figures of the report."""

from fathom_report.fathom import cumulative, heat_map, likeness, modes, scaling, stationarity
from fathom_report.ours import (
    backends,
    cache,
    decoding,
    formats,
    inference,
    request,
    roofline,
    sums,
    tax,
)
from fathom_report.tbd import below_average, memory, ranks, throughput, utilisation

# In the order of the page: the figures of the papers in their order, then our own.
MODULES = (stationarity, cumulative, heat_map, likeness, modes, scaling)
MODULES += (throughput, utilisation, memory, below_average, ranks)
MODULES += (roofline, tax, cache, sums, backends, formats, decoding, inference, request)


def figures(run):
    """One Figure or Missing per module."""
    return [module.figure(run) for module in MODULES]
