"""A verdict on two runs: which rows are slower, by how much, and why."""
