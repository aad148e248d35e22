"""A figure of a page, or the rows that it lacks."""

from collections.abc import Callable
from dataclasses import dataclass

import matplotlib.figure
import pandas as pd


@dataclass(frozen=True)
class Figure:
    key: str  # anchor and file name, such as "fathom-2"
    title: str  # "Cumulative time over op types"
    source: str  # "Fathom, Fig. 2"
    sentence: str  # the caption, computed from the data
    data: pd.DataFrame  # the drawn data, tidy; column names end in units ("time_us", "share_pct")
    draw: Callable[[matplotlib.figure.Figure], None]


@dataclass(frozen=True)
class Missing:
    key: str
    title: str
    source: str
    needs: str  # the missing rows and the command that measures them
