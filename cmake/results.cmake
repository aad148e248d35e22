# cmake -P cmake/results.cmake: installs the Python packages of the programs in results/. Needs no compiler.
include("${CMAKE_CURRENT_LIST_DIR}/Wheels.cmake")
fathom_wheels(results "pandas, SciPy, Matplotlib and Jinja2 (90 MB)" "Start again with network access." venv)
