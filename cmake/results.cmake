# cmake -P cmake/results.cmake: the Python packages of results/report and its neighbours. No compiler is looked for.
include("${CMAKE_CURRENT_LIST_DIR}/Wheels.cmake")
fathom_wheels(results "pandas, SciPy, Matplotlib, Jinja2 and Apache Otava (90 MB)" "Start again with network." venv)
