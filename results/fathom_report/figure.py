"""What the modules of figures yield: a figure, or what is missing to draw it."""

from collections.abc import Callable
from dataclasses import dataclass

import matplotlib.figure
import pandas as pd


@dataclass(frozen=True)
class Figure:
    key: str  # anchor and file name, as in "fathom-2"
    title: str  # "Cumulative time over op types"
    source: str  # "Fathom, Fig. 2"
    sentence: str  # what it shows on this machine, computed from the data
    data: pd.DataFrame  # what is drawn, tidy; column names carry units ("time_us", "share_pct")
    draw: Callable[[matplotlib.figure.Figure], None]


@dataclass(frozen=True)
class Missing:
    key: str
    title: str
    source: str
    needs: str  # which rows are missing and the command that makes them
