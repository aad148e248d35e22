# Defines fathom::onednn: oneDNN with the same OpenMP runtime as LibTorch. Never link it into a target that uses
# fathom::torch, because LibTorch ships the headers of another oneDNN.
include(Wheels)
find_package(dnnl 3 CONFIG QUIET PATHS ${DNNL_ROOT} $ENV{DNNL_ROOT}
  NO_CMAKE_SYSTEM_PATH NO_SYSTEM_ENVIRONMENT_PATH NO_CMAKE_PACKAGE_REGISTRY)
if(dnnl_FOUND AND DNNL_CPU_THREADING_RUNTIME STREQUAL OMP)
  message(STATUS "oneDNN ${dnnl_VERSION}: ${dnnl_DIR}")
  add_library(fathom::onednn ALIAS DNNL::dnnl)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  fathom_wheels(onednn "oneDNN 3.2 (39 MB)"
    "Start again with network access, or give an installed oneDNN with -DDNNL_ROOT=DIR." deps)
  add_library(fathom::onednn SHARED IMPORTED GLOBAL)
  set_target_properties(fathom::onednn PROPERTIES
    IMPORTED_LOCATION "${deps}/lib/libdnnl.so.3" INTERFACE_INCLUDE_DIRECTORIES "${deps}/include")
else()
  message(STATUS "oneDNN: no wheel for ${CMAKE_SYSTEM_PROCESSOR}; the onednn backend is off (-DDNNL_ROOT=DIR enables it)")
endif()
