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
    "Start again with network access, or configure with -DFATHOM_MPI_WHEEL=OFF." prefix)
  add_library(MPI::MPI_CXX SHARED IMPORTED)  # find_package(MPI) fails in a folder with a space in its path
  set_target_properties(MPI::MPI_CXX PROPERTIES
    IMPORTED_LOCATION "${prefix}/lib/libmpi.so" INTERFACE_INCLUDE_DIRECTORIES "${prefix}/include"
    INTERFACE_COMPILE_DEFINITIONS OMPI_SKIP_MPICXX)
  set(MPI_CXX_FOUND ON)
  return()
endif()
if(MPI_HOME AND NOT EXISTS "${MPI_HOME}/bin/mpicxx")
  message(FATAL_ERROR "No bin/mpicxx in ${MPI_HOME}. Set -DMPI_HOME=DIR to an MPI's install prefix, use -UMPI_HOME for the MPI "
    "of PATH, or -DFATHOM_MPI=OFF.")
endif()
if(NOT "${MPI_HOME}" STREQUAL "${FATHOM_MPI_HOME}")  # find_package() would keep the MPI that it found before
  get_cmake_property(cached CACHE_VARIABLES)
  list(FILTER cached INCLUDE REGEX "^(MPI_CXX|MPIEXEC)_|^MPI_.*_LIBRARY$")
  foreach(variable IN LISTS cached)
    unset(${variable} CACHE)
  endforeach()
  set(FATHOM_MPI_HOME "${MPI_HOME}" CACHE INTERNAL "where MPI was looked for")
endif()
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI QUIET COMPONENTS CXX)
if(MPI_CXX_FOUND)
  message(STATUS "MPI ${MPI_CXX_VERSION}: ${MPI_CXX_LIBRARIES}")
endif()
