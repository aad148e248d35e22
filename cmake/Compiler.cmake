# Not Clang: its -fopenmp loads a second OpenMP runtime, on which at::set_num_threads would have no effect.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}: g++ 12 or newer is "
    "needed. Remove ${PROJECT_BINARY_DIR} and start again with CXX=g++-12.")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")

# Without NDEBUG, LibTorch's record functions lose the shapes. -g1 compiles faster than -g.
if(NOT CMAKE_BUILD_TYPE)
  set_property(CACHE CMAKE_BUILD_TYPE PROPERTY VALUE RelWithDebInfo)
endif()
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
# Square roots and comparisons in loops are vectorized only without errno and floating-point traps. LibTorch has both flags.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-math-errno> $<$<COMPILE_LANGUAGE:CXX>:-fno-trapping-math>)

find_program(CCACHE ccache)
if(CCACHE)  # it fails where it cannot write its cache, as in a container for a user without a home folder
  set(trial "${PROJECT_BINARY_DIR}/CMakeFiles/ccache_trial.cc")
  file(WRITE "${trial}" "")
  execute_process(COMMAND ${CCACHE} ${CMAKE_CXX_COMPILER} -c "${trial}" -o "${trial}.o"
    RESULT_VARIABLE ccache_fails OUTPUT_QUIET ERROR_QUIET)
endif()
if(CCACHE AND NOT ccache_fails)
  # ccache needs these settings to cache compilations with a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()

# Compiling a file that includes LibTorch takes up to 1.5 GB of memory.
cmake_host_system_information(RESULT memory QUERY TOTAL_PHYSICAL_MEMORY)  # MiB
foreach(limit /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes)  # of a container
  if(EXISTS ${limit})
    file(READ ${limit} bytes)
    if(bytes MATCHES "^[0-9]+" AND CMAKE_MATCH_0 LESS "${memory}000000")
      math(EXPR memory "${CMAKE_MATCH_0} / 1048576")
    endif()
  endif()
endforeach()
math(EXPR jobs "${memory} / 1536 + 1")
set_property(GLOBAL PROPERTY JOB_POOLS compile=${jobs})
set(CMAKE_JOB_POOL_COMPILE compile)

add_library(fathom_warnings INTERFACE)
add_library(fathom::warnings ALIAS fathom_warnings)
target_compile_options(fathom_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${FATHOM_WERROR}>>:-Werror>
  $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${FATHOM_WERROR}>>:-Werror=all-warnings -Xcompiler=-Werror>)

# Flags instead of OpenMP::OpenMP_CXX, which would load the compiler's libgomp beside LibTorch's own in one process.
add_library(fathom_openmp INTERFACE)
add_library(fathom::openmp ALIAS fathom_openmp)
target_compile_options(fathom_openmp INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fopenmp>)
target_link_options(fathom_openmp INTERFACE -fopenmp)

# An RPATH instead of a RUNPATH, so that LD_LIBRARY_PATH with a CUDA toolkit or oneAPI does not replace some of LibTorch's
# libraries or oneDNN.
add_link_options(LINKER:--disable-new-dtags)
