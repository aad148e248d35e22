"""Distances between profiles: vectors of the shares that op types have in a step."""

import numpy as np
import pandas as pd
from scipy.spatial import distance


def cosine_distances(profiles):
    """Distances between the rows of a table, as a table: 0 for equal shares, 1 if nothing is shared."""
    distances = distance.squareform(distance.pdist(profiles.to_numpy(dtype=float), "cosine"))
    return pd.DataFrame(np.maximum(distances, 0), profiles.index, profiles.index)
