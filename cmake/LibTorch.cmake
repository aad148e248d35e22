# Defines fathom::torch: libtorch_cpu and libc10, no CUDA library. find_package(Torch) is not used, because with a CUDA
# build of LibTorch it requires nvcc and links every CUDA library into every program.
include(GpuTools)
include(Wheels)

# The user's LibTorch: a libtorch folder, a site-packages/torch, or the share/cmake in it that PyTorch's manual names.
set(user_torch ${Torch_ROOT} $ENV{Torch_ROOT})
if(Torch_DIR)
  list(APPEND user_torch "${Torch_DIR}/../../..")
endif()
set(prefixes "")
string(REPLACE ":" ";" environment "$ENV{CMAKE_PREFIX_PATH}")
foreach(prefix ${CMAKE_PREFIX_PATH} ${environment})
  list(APPEND prefixes "${prefix}" "${prefix}/../..")
endforeach()
find_path(torch lib/libtorch_cpu.so PATHS ${user_torch} ${prefixes} NO_DEFAULT_PATH NO_CACHE)

set(FATHOM_OWN_TORCH ON)  # the user's
if(torch)
  file(REAL_PATH "${torch}" FATHOM_TORCH_DIR)
elseif(user_torch)
  message(FATAL_ERROR "No lib/libtorch_cpu.so in ${user_torch}. Set -DTorch_ROOT=DIR to a libtorch folder or a "
    "site-packages/torch, or use -UTorch_ROOT -UTorch_DIR to install the pinned wheel.")
else()
  set(FATHOM_OWN_TORCH OFF)
  set(wheels cpu)
  set(size "0.6 GB")
  set(hint "Start again with network access, or give an installed LibTorch with -DTorch_ROOT=DIR.")
  # Installs the CUDA libraries only if there is a driver, or for a build for another machine. Those that are installed are
  # used without a driver, too: the same LibTorch needs no download, and the build stays.
  fathom_wheels_installed("cpu;cuda" installed)
  if(FATHOM_CUDA AND (FATHOM_DRIVER OR FATHOM_CUDA_WHEELS OR installed OR NOT FATHOM_CUDA STREQUAL AUTO))
    list(APPEND wheels cuda)
    set(size "2.7 GB")
    string(APPEND hint " -DFATHOM_CUDA=OFF needs no CUDA libraries (0.6 GB).")
  endif()
  fathom_wheels("${wheels}" "LibTorch 2.11.0 (${size})" "${hint}" deps)
  file(GLOB FATHOM_TORCH_DIR LIST_DIRECTORIES true "${deps}/lib/python3.*/site-packages/torch")
endif()

set(version "")
foreach(header torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
  if(EXISTS "${FATHOM_TORCH_DIR}/include/${header}" AND NOT version)
    file(STRINGS "${FATHOM_TORCH_DIR}/include/${header}" version REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
    string(REGEX MATCHALL "[0-9]+" version "${version}")
  endif()
endforeach()
list(JOIN version . version)
if(version VERSION_LESS 2.11)  # c10::Stream::native_handle
  message(FATAL_ERROR "LibTorch ${version} in ${FATHOM_TORCH_DIR} is too old: 2.11 or newer is needed. Set "
    "-DTorch_ROOT=DIR to a newer one, or take it out of Torch_ROOT, Torch_DIR and CMAKE_PREFIX_PATH to install the pinned wheel.")
endif()
message(STATUS "LibTorch ${version}: ${FATHOM_TORCH_DIR}")

add_library(fathom::c10 SHARED IMPORTED GLOBAL)
set_target_properties(fathom::c10 PROPERTIES IMPORTED_LOCATION "${FATHOM_TORCH_DIR}/lib/libc10.so")
add_library(fathom::torch SHARED IMPORTED GLOBAL)
set_target_properties(fathom::torch PROPERTIES
  IMPORTED_LOCATION "${FATHOM_TORCH_DIR}/lib/libtorch_cpu.so"
  INTERFACE_INCLUDE_DIRECTORIES
    "${FATHOM_TORCH_DIR}/include;${FATHOM_TORCH_DIR}/include/torch/csrc/api/include"
  INTERFACE_COMPILE_DEFINITIONS "USE_DISTRIBUTED;USE_C10D_GLOO;USE_RPC;USE_TENSORPIPE;AT_PER_OPERATOR_HEADERS"
  INTERFACE_LINK_OPTIONS LINKER:--no-as-needed  # static initialisers register the operators
  INTERFACE_LINK_LIBRARIES fathom::c10)
