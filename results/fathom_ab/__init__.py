"""Two programs by turns, row by row, so that what drifts on the machine hits both alike."""
