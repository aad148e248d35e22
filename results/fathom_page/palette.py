"""Colours of all pages: classes of op types, classes of memory, and lines."""

import itertools

from fathom_runs.catalogue import FRAMEWORK

# Fathom's classes A to G, then time outside ops. Colours of Okabe and Ito, with a darker yellow for white backgrounds.
CLASS_COLOURS = {
    "matrix": "#0072B2",
    "convolution": "#D55E00",
    "elementwise": "#009E73",
    "reduction": "#CC79A7",
    "random": "#CDBB21",
    "optimization": "#E69F00",
    "data_movement": "#56B4E9",
    FRAMEWORK: "#909090",
}
OTHER_CLASS = "#A6761D"  # a class that Fathom does not have
LETTERS = dict(zip(CLASS_COLOURS, "ABCDEFG"))
MEMORY_COLOURS = {
    "weights": "#0072B2",
    "gradients": "#56B4E9",
    "optimizer": "#E69F00",
    "features": "#D55E00",
    "inputs": "#009E73",
    "temporaries": "#CC79A7",
    "workspace": "#909090",
}
# Lines with a name beside them; the colour has no meaning.
LINE_COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#909090",
    "#A6761D",
)
FIRST, SECOND = "#0072B2", "#D55E00"  # for figures with two kinds


def line_colours(names):
    """A colour for each name. Colours repeat where there are more names."""
    return dict(zip(names, itertools.cycle(LINE_COLOURS)))


def class_words(name):
    """Name of a class in sentences and legends."""
    return name.replace("_", " ")


def class_colour(name):
    return CLASS_COLOURS.get(name, OTHER_CLASS)


def in_order(classes):
    """Each class once: Fathom's in the order of the paper, then others, then the framework."""
    order = [name for name in CLASS_COLOURS if name != FRAMEWORK]
    found = dict.fromkeys(classes)
    others = [name for name in found if name not in CLASS_COLOURS]
    return [name for name in (*order, *others, FRAMEWORK) if name in found]
