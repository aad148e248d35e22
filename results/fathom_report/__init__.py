"""Makes a page of figures and tables from the JSON of fathom_bench."""
