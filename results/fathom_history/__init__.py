"""A folder of runs as one page: trends, where rows changed, and what else changed there."""
