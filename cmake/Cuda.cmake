# Sets FATHOM_CUDA_ENABLED and defines fathom::{torch_cuda,cudart,cublasLt,cudnn} for libfathom_cuda.so.
set(FATHOM_CUDA_ENABLED OFF)
set(missing "")
if(FATHOM_CUDA)  # AUTO or ON
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    set(missing "no working nvcc")
  elseif(NOT EXISTS "${FATHOM_TORCH_DIR}/lib/libtorch_cuda.so")
    set(missing "LibTorch in ${FATHOM_TORCH_DIR} is built without CUDA")
  else()
    set(FATHOM_CUDA_ENABLED ON)
  endif()
endif()
if(missing AND FATHOM_CUDA STREQUAL AUTO)
  message(STATUS "CUDA: off, ${missing}")
elseif(missing)
  message(FATAL_ERROR "FATHOM_CUDA=${FATHOM_CUDA}, but ${missing}")
endif()
if(NOT FATHOM_CUDA_ENABLED)
  return()
endif()

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  # Code for H100 and H200, and PTX that the driver compiles for older and newer GPUs.
  set(CMAKE_CUDA_ARCHITECTURES "75-virtual;90-real;90-virtual")
endif()
set(CMAKE_CUDA_RUNTIME_LIBRARY None)  # LibTorch ships the shared runtime
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not support C++20 for nvcc
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)  # must follow enable_language(): before it, the compiler check fails
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)

find_package(CUDAToolkit REQUIRED QUIET)
message(STATUS "CUDA: ${CUDAToolkit_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")

# Uses the libraries of the wheels if they are installed, so that the process loads only one copy of each. Else uses the
# toolkit's, only to compile and link.
set(nvidia "${FATHOM_TORCH_DIR}/../nvidia")
function(fathom_cuda_library name wheel header)
  find_library(library NAMES lib${name}.so.13 lib${name}.so.9 ${name} NO_CACHE
    HINTS "${nvidia}/${wheel}/lib" "${CUDAToolkit_LIBRARY_DIR}")
  find_path(include ${header} NO_CACHE HINTS "${nvidia}/${wheel}/include" ${CUDAToolkit_INCLUDE_DIRS})
  if(NOT library OR NOT include)
    message(FATAL_ERROR "CUDA: lib${name}.so or ${header} is missing; install it or configure with -DFATHOM_CUDA=OFF")
  endif()
  add_library(fathom::${name} SHARED IMPORTED GLOBAL)
  set_target_properties(fathom::${name} PROPERTIES
    IMPORTED_LOCATION "${library}" INTERFACE_INCLUDE_DIRECTORIES "${include}")
endfunction()
fathom_cuda_library(cudart cu13 cuda_runtime.h)
fathom_cuda_library(cublasLt cu13 cublasLt.h)
fathom_cuda_library(cudnn cudnn cudnn.h)

add_library(fathom::c10_cuda SHARED IMPORTED GLOBAL)
set_target_properties(fathom::c10_cuda PROPERTIES
  IMPORTED_LOCATION "${FATHOM_TORCH_DIR}/lib/libc10_cuda.so")
add_library(fathom::torch_cuda SHARED IMPORTED GLOBAL)
set_target_properties(fathom::torch_cuda PROPERTIES
  IMPORTED_LOCATION "${FATHOM_TORCH_DIR}/lib/libtorch_cuda.so"
  INTERFACE_COMPILE_DEFINITIONS USE_C10D_NCCL
  INTERFACE_LINK_LIBRARIES "fathom::torch;fathom::c10_cuda;fathom::cudart")
