# cmake -P cmake/dashboards.cmake: the dashboards that tests import runs into, beside what results/export needs.
include("${CMAKE_CURRENT_LIST_DIR}/results.cmake")
fathom_wheels(dashboards "Conbench's adapter and LLVM's LNT (25 MB)" "Start again with network." venv)
