"""Values of options."""

import argparse
import math


def percentage(text):
    return bounded(text, 0, 1000)


def share(text):
    return bounded(text, 0, 1)


def bounded(text, low, high):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low < value < high:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number between {low} and {high}")
    return value
