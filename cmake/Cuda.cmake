# Sets FATHOM_CUDA_ENABLED and defines fathom::{torch_cuda,cudart,cublasLt,cudnn} for libfathom_cuda.so. FATHOM_CUDA_OFF is why
# there is no CUDA part, with what to do, and FATHOM_TORCH_CUDA is the major version of LibTorch's CUDA.
include(GpuTools)
include(Wheels)
set(FATHOM_CUDA_ENABLED OFF)
set(FATHOM_CUDA_OFF "")
set(FATHOM_TORCH_CUDA 0)

macro(fathom_cuda_off reason remedy)  # ends this file
  set(FATHOM_CUDA_OFF "${reason}; ${remedy}")
  if(FATHOM_CUDA AND NOT FATHOM_CUDA STREQUAL AUTO)
    message(FATAL_ERROR "FATHOM_CUDA=${FATHOM_CUDA}, but ${FATHOM_CUDA_OFF}")
  endif()
  fathom_say("CUDA: off, ${FATHOM_CUDA_OFF}")
  return()
endmacro()

if(NOT FATHOM_CUDA)
  fathom_cuda_off("FATHOM_CUDA=${FATHOM_CUDA}" "-DFATHOM_CUDA=ON builds it")
elseif(NOT EXISTS "${FATHOM_TORCH_DIR}/lib/libtorch_cuda.so")
  fathom_cuda_off("LibTorch in ${FATHOM_TORCH_DIR} is built without CUDA" "-DTorch_ROOT=DIR gives another")
endif()
execute_process(COMMAND ${CMAKE_READELF} -d "${FATHOM_TORCH_DIR}/lib/libc10_cuda.so" OUTPUT_VARIABLE needed ERROR_QUIET)
if(NOT needed MATCHES "libcudart[^]]*\\.so\\.([0-9]+)")
  fathom_cuda_off("${FATHOM_TORCH_DIR}/lib/libc10_cuda.so names no CUDA runtime" "-DTorch_ROOT=DIR gives another LibTorch")
endif()
set(FATHOM_TORCH_CUDA ${CMAKE_MATCH_1})

if(FATHOM_CUDA STREQUAL AUTO AND NOT FATHOM_CUDA_WHEELS AND NOT FATHOM_DRIVER)
  fathom_cuda_off("there is no NVIDIA driver" "-DFATHOM_CUDA=ON builds it for another machine")
endif()

# nvcc: the user's or a toolkit's, if its major version is that of LibTorch's CUDA, else the pinned wheels'. CMake caches the
# nvcc that we choose as if the user had given it.
set(nvcc "")
if(NOT FATHOM_CUDA_WHEELS)
  set(nvccs ${FATHOM_NVCCS})
  if(CMAKE_CUDA_COMPILER AND NOT "${CMAKE_CUDA_COMPILER}" STREQUAL "${FATHOM_CHOSEN_NVCC}")
    list(PREPEND nvccs "${CMAKE_CUDA_COMPILER}")
    list(REMOVE_DUPLICATES nvccs)
  endif()
  fathom_choose_nvcc(${FATHOM_TORCH_CUDA} nvcc ${nvccs})
endif()
if(nvcc)
elseif(NOT FATHOM_TORCH_CUDA EQUAL 13)
  fathom_cuda_off("LibTorch in ${FATHOM_TORCH_DIR} needs a toolkit of CUDA ${FATHOM_TORCH_CUDA}, and the pinned nvcc is CUDA 13"
    "install the toolkit, or name its nvcc with -DCMAKE_CUDA_COMPILER=FILE")
else()
  fathom_wheels(nvcc "nvcc 13.0 (105 MB)"
    "Start again with network access, install the CUDA toolkit 13, or configure with -DFATHOM_CUDA=OFF." deps)
  file(GLOB toolkit "${deps}/lib/python3.*/site-packages/nvidia/cu13")
  file(CREATE_LINK lib "${toolkit}/lib64" SYMBOLIC)  # where nvcc looks for libraries
  set(nvcc "${toolkit}/bin/nvcc")
endif()
if(NOT "${CMAKE_CUDA_COMPILER}" STREQUAL "${nvcc}")
  set(CMAKE_CUDA_COMPILER "${nvcc}" CACHE FILEPATH "nvcc" FORCE)
  set(FATHOM_CHOSEN_NVCC "${nvcc}" CACHE INTERNAL "nvcc that this file chose")
endif()

# The C++ compiler for nvcc, in CMake's order: the environment's, the setting, else ours. A compiler that nvcc refuses ends
# enable_language() with an error, so nvcc tries it first, with the flags that enable_language() uses.
set(host "$ENV{CUDAHOSTCXX}")
foreach(other IN ITEMS "${CMAKE_CUDA_HOST_COMPILER}" "${CMAKE_CXX_COMPILER}")
  if(NOT host)
    set(host "${other}")
  endif()
endforeach()
set(CMAKE_CUDA_HOST_COMPILER "${host}")
set(flags "$ENV{CUDAFLAGS}")
if(DEFINED CMAKE_CUDA_FLAGS)
  set(flags "${CMAKE_CUDA_FLAGS}")
endif()
fathom_nvcc_version("${nvcc}" version)
set(tried "${nvcc} ${version} ${flags} ${host}")
if(NOT "${FATHOM_NVCC_COMPILES}" STREQUAL "${tried}")
  set(trial "${PROJECT_BINARY_DIR}/CMakeFiles/nvcc_trial.cu")
  file(WRITE "${trial}" "#include <concepts>\n__global__ void kernel(std::integral auto n) {}\n")
  separate_arguments(words NATIVE_COMMAND "${flags}")
  execute_process(COMMAND "${nvcc}" -std=c++20 -ccbin "${host}" ${words} -c "${trial}" -o "${trial}.o"
    RESULT_VARIABLE failed OUTPUT_VARIABLE error ERROR_VARIABLE error)
  if(failed)
    string(REGEX MATCH "[^\n]*(error|fatal)[^\n]*" error "${error}")
    fathom_cuda_off("${nvcc} cannot compile with ${host} (${error})" "set CUDAHOSTCXX to a compiler that it supports")
  endif()
  set(FATHOM_NVCC_COMPILES "${tried}" CACHE INTERNAL "nvcc, flags and C++ compiler that work together")
  file(REMOVE "${CMAKE_BINARY_DIR}/CMakeFiles/${CMAKE_VERSION}/CMakeCUDACompiler.cmake")  # CMake looks at them anew
endif()

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  # Code for each GPU from Turing to Blackwell, and PTX of the newest, which the driver compiles for later GPUs. The program
  # refuses older ones (fixtures/machine/device.cc).
  execute_process(COMMAND "${nvcc}" --list-gpu-arch OUTPUT_VARIABLE known)
  foreach(architecture 75 80 86 89 90 100 110 120)
    if(known MATCHES "compute_${architecture}\n")
      list(APPEND CMAKE_CUDA_ARCHITECTURES ${architecture}-real)
      set(newest ${architecture})
    endif()
  endforeach()
  list(APPEND CMAKE_CUDA_ARCHITECTURES ${newest}-virtual)
endif()
set(CMAKE_CUDA_RUNTIME_LIBRARY None)  # LibTorch ships the shared runtime
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not support C++20 for nvcc
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)  # must follow enable_language(): before it, the compiler check fails
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)

# Uses LibTorch's own libraries if they are installed, so that the process loads only one copy of each: the wheels', or those
# in the folder of a downloaded LibTorch. Else uses the toolkit's, only to compile and link.
set(nvidia "${FATHOM_TORCH_DIR}/../nvidia")
set(missing "")
function(fathom_cuda_library name wheel header)
  find_library(library NAMES lib${name}.so.${FATHOM_TORCH_CUDA} lib${name}.so.9 ${name} NO_CACHE
    HINTS "${nvidia}/${wheel}/lib" "${FATHOM_TORCH_DIR}/lib" ${CMAKE_CUDA_HOST_LINK_DIRECTORIES}
      ${CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES})
  find_path(include ${header} NO_CACHE HINTS "${nvidia}/${wheel}/include" ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
  if(library AND include)
    add_library(fathom::${name} SHARED IMPORTED GLOBAL)
    set_target_properties(fathom::${name} PROPERTIES
      IMPORTED_LOCATION "${library}" INTERFACE_INCLUDE_DIRECTORIES "${include}")
  else()
    set(missing "lib${name}.so or ${header}" PARENT_SCOPE)
  endif()
endfunction()
fathom_cuda_library(cudnn cudnn cudnn.h)
fathom_cuda_library(cublasLt cu13 cublasLt.h)
fathom_cuda_library(cudart cu13 cuda_runtime.h)
if(missing AND FATHOM_OWN_TORCH)
  fathom_cuda_off("${missing} is missing, and LibTorch in ${FATHOM_TORCH_DIR} is not the pinned one"
    "install it for CUDA ${FATHOM_TORCH_CUDA}, or give its folder with -DCMAKE_PREFIX_PATH=DIR")
elseif(missing)
  fathom_cuda_off("${missing} is missing" "-DFATHOM_CUDA_WHEELS=ON installs it with the pinned LibTorch")
endif()
set(FATHOM_CUDA_ENABLED ON)
list(JOIN CMAKE_CUDA_ARCHITECTURES " " architectures)
fathom_say("CUDA: on, ${nvcc} (${version}), architectures ${architectures}")

# cuda_runtime.h includes crt/, which comes with nvcc alone. nvcc's folder is last, so that a library and its header fit.
set_property(TARGET fathom::cudart APPEND PROPERTY
  INTERFACE_INCLUDE_DIRECTORIES ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
add_library(fathom::c10_cuda SHARED IMPORTED GLOBAL)
set_target_properties(fathom::c10_cuda PROPERTIES
  IMPORTED_LOCATION "${FATHOM_TORCH_DIR}/lib/libc10_cuda.so")
add_library(fathom::torch_cuda SHARED IMPORTED GLOBAL)
set_target_properties(fathom::torch_cuda PROPERTIES
  IMPORTED_LOCATION "${FATHOM_TORCH_DIR}/lib/libtorch_cuda.so"
  INTERFACE_COMPILE_DEFINITIONS USE_C10D_NCCL
  INTERFACE_LINK_LIBRARIES "fathom::torch;fathom::c10_cuda;fathom::cudart")
