"""The x axis of speed-ups."""

import math

import matplotlib.ticker

FINE, COARSE = (1, 1.5, 2, 3, 5, 7), (1, 2, 5)  # ticks in each power of ten
MAX_TICKS = 8


def ratio_axis(axis, values):
    """Makes the x axis logarithmic, with 1 and all known values inside and plain numbers as ticks."""
    known = [value for value in values if value == value]
    low, high = min(*known, 0.95) / 1.1, max(*known, 1.05) * 1.1
    axis.set_xscale("log")
    axis.set_xlim(low, high)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in (FINE, COARSE, (1,)):
        ticks = [step * 10.0**power for power in powers for step in steps]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) <= MAX_TICKS:
            break
    axis.xaxis.set_major_locator(matplotlib.ticker.FixedLocator(ticks))
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axis.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
