# cmake -P cmake/dashboards.cmake: installs the packages of results.cmake, the dashboards that tests import results into,
# check-jsonschema, hatchling, and torchvision with the packages that PyTorch's Python modules need.
include("${CMAKE_CURRENT_LIST_DIR}/results.cmake")
fathom_wheels(dashboards "Conbench's adapter, LLVM's LNT and check-jsonschema (27 MB)" "Start again with network access." venv)
fathom_wheels(pytorch "torchvision (15 MB)" "Start again with network access." venv)
