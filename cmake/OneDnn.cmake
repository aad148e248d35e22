# Defines fathom::onednn: oneDNN with the same OpenMP runtime as LibTorch. Never link it into a target that uses
# fathom::torch, because LibTorch ships the headers of another oneDNN.
include(Wheels)
set(user_dnnl ${DNNL_ROOT} $ENV{DNNL_ROOT})
if(user_dnnl)
  unset(dnnl_DIR CACHE)  # find_package() would not look into another DNNL_ROOT
  find_package(dnnl 3 CONFIG QUIET PATHS ${user_dnnl} NO_DEFAULT_PATH)
else()
  find_package(dnnl 3 CONFIG QUIET NO_CMAKE_SYSTEM_PATH NO_SYSTEM_ENVIRONMENT_PATH NO_CMAKE_PACKAGE_REGISTRY)
endif()
if(dnnl_FOUND AND DNNL_CPU_THREADING_RUNTIME STREQUAL OMP)
  message(STATUS "oneDNN ${dnnl_VERSION}: ${dnnl_DIR}")
  add_library(fathom::onednn ALIAS DNNL::dnnl)
elseif(user_dnnl)
  set(found none)
  if(dnnl_CONSIDERED_VERSIONS)
    set(found "oneDNN ${dnnl_CONSIDERED_VERSIONS} ${DNNL_CPU_THREADING_RUNTIME}")
  endif()
  message(FATAL_ERROR "DNNL_ROOT=${user_dnnl}: expected oneDNN 3 with the OMP runtime, found ${found}. "
    "Set -DDNNL_ROOT=DIR to its install prefix, or use -UDNNL_ROOT to install the pinned wheel.")
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  fathom_wheels(onednn "oneDNN 3.2 (39 MB)"
    "Start again with network access, or give an installed oneDNN with -DDNNL_ROOT=DIR." deps)
  add_library(fathom::onednn SHARED IMPORTED GLOBAL)
  set_target_properties(fathom::onednn PROPERTIES
    IMPORTED_LOCATION "${deps}/lib/libdnnl.so.3" INTERFACE_INCLUDE_DIRECTORIES "${deps}/include")
else()
  message(STATUS "oneDNN: no wheel for ${CMAKE_SYSTEM_PROCESSOR}; the onednn backend is off (-DDNNL_ROOT=DIR enables it)")
endif()
if(user_dnnl)
  unset(dnnl_DIR CACHE)
endif()
