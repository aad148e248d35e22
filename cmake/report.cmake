# cmake -P cmake/report.cmake: the Python packages of results/report. No compiler is looked for.
if(DEFINED ENV{FATHOM_DEPS_DIR})
  set(FATHOM_DEPS_DIR "$ENV{FATHOM_DEPS_DIR}")
else()
  cmake_path(SET FATHOM_DEPS_DIR NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../.deps")
endif()
include("${CMAKE_CURRENT_LIST_DIR}/Wheels.cmake")
fathom_wheels(report "pandas, SciPy and Matplotlib (90 MB)" "Start again with network." venv)
