# cmake -P cmake/lint.cmake: installs clang-tidy and cuobjdump for .ci/run.
include("${CMAKE_CURRENT_LIST_DIR}/Wheels.cmake")
fathom_wheels(lint "clang-tidy 23 and cuobjdump (40 MB)" "Start again with network access." venv)
