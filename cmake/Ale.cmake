# Defines fathom::ale, the Arcade Learning Environment, if FATHOM_ALE is ON: the user's installation (-Dale_ROOT=DIR), else a
# build of the pinned source archive of ale-py. The archive contains no commercial ROM.
if(NOT FATHOM_ALE)
  return()
endif()
include(Download)
include(Wheels)
include(CheckCXXSourceCompiles)
message(NOTICE "FATHOM_ALE: ALE is licensed under GPL-2.0-only. Don't distribute a program that is linked with it.")

function(fathom_build_ale prefix)
  if(EXISTS "${prefix}")
    return()
  endif()
  file(LOCK "${prefix}.lock" GUARD FUNCTION)
  if(EXISTS "${prefix}")
    return()
  endif()
  set(work "${prefix}.new")  # renamed to ${prefix} when complete
  file(REMOVE_RECURSE "${work}")
  set(url "https://files.pythonhosted.org/packages/2c/85/fffbe95501efc9ecf73e02fb62e7a99401e12dcb8217313016dd00b13cdc")
  fathom_say("Downloading and building ALE 0.11.2 (0.5 MB) into ${prefix}")
  fathom_download("${url}/ale_py-0.11.2.tar.gz" cc6fed9d994d796d76b0d042fbe0a7101834faa55b5e70b1e1f14367ed9e2a8a
    "${work}/source.tar.gz" error)
  if(NOT error)
    file(ARCHIVE_EXTRACT INPUT "${work}/source.tar.gz" DESTINATION "${work}")
    # Shared, because ALE's static library is LTO bytecode, which other compilers cannot link. ALE gets the same compiler,
    # so that the C++ ABI matches, but not our compiler flags.
    execute_process(
      COMMAND ${CMAKE_COMMAND} -E env --unset=VCPKG_ROOT --unset=VCPKG_INSTALLATION_ROOT
        ${CMAKE_COMMAND} -S "${work}/ale_py-0.11.2" -B "${work}/build" -G ${CMAKE_GENERATOR}
        "-DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}"
        -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON
        -DBUILD_PYTHON_LIB=OFF "-DCMAKE_INSTALL_PREFIX=${work}/prefix" -DCMAKE_INSTALL_LIBDIR=lib
      RESULT_VARIABLE failed OUTPUT_FILE "${work}/build.log" ERROR_FILE "${work}/build.log")
    if(NOT failed)
      execute_process(COMMAND ${CMAKE_COMMAND} --build "${work}/build" --target install
        RESULT_VARIABLE failed OUTPUT_FILE "${work}/build.log" ERROR_FILE "${work}/build.log")
    endif()
    if(failed)
      set(error "see ${work}/build.log")
    endif()
  endif()
  if(error)
    message(FATAL_ERROR "Could not build ALE 0.11.2: ${error}. "
      "Start again with network access, give an installed ALE with -Dale_ROOT=DIR, or configure with -DFATHOM_ALE=OFF.")
  endif()
  file(RENAME "${work}/prefix" "${prefix}")
  file(REMOVE_RECURSE "${work}")
endfunction()

find_package(ale CONFIG QUIET)
if(NOT ale_FOUND AND (ale_ROOT OR DEFINED ENV{ale_ROOT}))
  message(FATAL_ERROR "No ale-config.cmake under ${ale_ROOT}$ENV{ale_ROOT}. Set -Dale_ROOT=DIR to ALE's install prefix, "
    "or use -Uale_ROOT to build the pinned source.")
elseif(NOT ale_FOUND)
  fathom_build_ale("${FATHOM_DEPS_DIR}/ale-0.11.2")
  find_package(ale CONFIG QUIET REQUIRED PATHS "${FATHOM_DEPS_DIR}/ale-0.11.2" NO_DEFAULT_PATH)
endif()
message(STATUS "ALE ${ale_VERSION}: ${ale_DIR}")

# ALE's target has the include directory <prefix>/include/ale, but its headers include each other as <ale/...>.
get_target_property(include ale::ale-lib INTERFACE_INCLUDE_DIRECTORIES)
list(GET include 0 include)
cmake_path(GET include PARENT_PATH include)
add_library(fathom::ale INTERFACE IMPORTED)
set_target_properties(fathom::ale PROPERTIES
  INTERFACE_LINK_LIBRARIES ale::ale-lib INTERFACE_INCLUDE_DIRECTORIES "${include}")

set(CMAKE_REQUIRED_LIBRARIES fathom::ale)
check_cxx_source_compiles(
  "#include <ale/ale_interface.hpp>
  int main() { return ale::ALEInterface::isSupportedROM(\"game.bin\") ? 1 : 0; }" FATHOM_ALE_LINKS)
unset(CMAKE_REQUIRED_LIBRARIES)
if(NOT FATHOM_ALE_LINKS)
  unset(FATHOM_ALE_LINKS CACHE)
  message(FATAL_ERROR "The ALE in ${ale_DIR} cannot be linked. Build it with -DBUILD_SHARED_LIBS=ON (its static library is "
    "LTO bytecode of one compiler) and with the C++ ABI of this compiler, or use -Uale_ROOT -Uale_DIR to build the pinned "
    "source.")
endif()
