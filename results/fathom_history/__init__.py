"""Makes a page of a folder of runs: trends of rows, their changes, and changes of the machine at the same runs."""
