# Defines MPI::MPI_CXX for libfathom_mpi.so where an MPI is found: the first mpicxx of PATH, or that of MPI_HOME. With
# FATHOM_MPI_WHEEL it is the pinned Open MPI.
include(Wheels)
option(FATHOM_MPI "Build rows of MPI's collectives, where an MPI is found" ON)
option(FATHOM_MPI_WHEEL "Take the pinned wheel of Open MPI" OFF)
if(NOT FATHOM_MPI)
  return()
endif()
if(FATHOM_MPI_WHEEL)
  fathom_wheels(mpi "Open MPI 5.0 (7 MB)"
    "Start again with network access, or configure with -DFATHOM_MPI_WHEEL=OFF." MPI_HOME)
endif()
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI QUIET COMPONENTS CXX)
if(MPI_CXX_FOUND)
  message(STATUS "MPI ${MPI_CXX_VERSION}: ${MPI_CXX_LIBRARIES}")
endif()
