# cmake -P cmake/results.cmake: the Python packages of results/report and its neighbours. No compiler is looked for.
if(DEFINED ENV{FATHOM_DEPS_DIR})
  set(FATHOM_DEPS_DIR "$ENV{FATHOM_DEPS_DIR}")
else()
  cmake_path(SET FATHOM_DEPS_DIR NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../.deps")
endif()
include("${CMAKE_CURRENT_LIST_DIR}/Wheels.cmake")
fathom_wheels(results "pandas, SciPy, Matplotlib and Apache Otava (90 MB)" "Start again with network." venv)
