# cmake -P cmake/dashboards.cmake: installs the packages of results.cmake, the dashboards that tests import results into, and
# torchvision with the packages that PyTorch's Python modules need.
include("${CMAKE_CURRENT_LIST_DIR}/results.cmake")
fathom_wheels(dashboards "Conbench's adapter and LLVM's LNT (25 MB)" "Start again with network access." venv)
fathom_wheels(pytorch "torchvision (15 MB)" "Start again with network access." venv)
