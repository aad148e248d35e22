"""Compares the sides, draws the figures and writes the page."""

from fathom_compare import headroom, op_shares, op_types, page, roofs, shares, speedup
from fathom_compare.pairs import compare
from fathom_page import render
from fathom_page.figure import Figure
from fathom_runs.output import replace

MODULES = (speedup, op_types, shares, headroom, op_shares, roofs)  # in the order of the page


def comparison(sides, path):
    """Writes the page. Returns the comparisons of each side with the first, and a line per missing figure."""
    base, *others = sides
    # With two sides, ids have no suffix.
    keys = ["" if number == 0 else f"-{side.letter}" for number, side in enumerate(others)]
    comparisons = [compare(base, other, key) for other, key in zip(others, keys)]
    figures = [[module.figure(one) for module in MODULES] for one in comparisons]
    every = [one for found in figures for one in found]
    images = {
        one.key: render.svg(render.drawn(one), one.key) for one in every if isinstance(one, Figure)
    }
    replace(path, page.page(sides, comparisons, figures, images))
    return comparisons, [f"{one.key}: {one.needs}" for one in every if one.key not in images]
