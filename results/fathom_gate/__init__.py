"""Compares two runs: which rows are slower, by how much, and why."""
