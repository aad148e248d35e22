"""Turns the JSON of fathom_bench into one page of figures and tables."""
