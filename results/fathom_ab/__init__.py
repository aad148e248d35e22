"""Runs two programs alternately, row by row. A drift of the machine then affects both equally."""
