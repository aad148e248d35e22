# Small libraries: those of the system, else a pinned upstream release.
include(FetchContent)
set(BENCHMARK_ENABLE_TESTING OFF)
set(BENCHMARK_ENABLE_INSTALL OFF)
set(INSTALL_GTEST OFF)
set(PUGIXML_INSTALL OFF)
set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # the variables above override options of the same name

macro(fathom_library name version url)
  find_package(${name} ${version} QUIET)
  if(NOT ${name}_FOUND)
    get_filename_component(file "${url}" NAME)
    set(archive "${FETCHCONTENT_BASE_DIR}/${name}-${file}")
    string(TOUPPER "${name}" upper)
    if(NOT EXISTS "${archive}" AND NOT FETCHCONTENT_SOURCE_DIR_${upper})  # FetchContent would try six times and print the error each time
      fathom_say("${name} is not installed: downloading ${url}")
      file(DOWNLOAD "${url}" "${archive}.part" STATUS status)
      list(POP_FRONT status failed error)
      if(failed)
        message(FATAL_ERROR "${name} ${version} or newer is not installed, and ${url} could not be downloaded (${error}). "
          "Install it, give its folder with -DCMAKE_PREFIX_PATH=DIR, or start again with network access.")
      endif()
      file(RENAME "${archive}.part" "${archive}")
    endif()
    # CMake 3.25 would read a SYSTEM after URL as a second URL.
    FetchContent_Declare(${name} SYSTEM URL "${archive}")
    FetchContent_MakeAvailable(${name})
  endif()
endmacro()

fathom_library(benchmark 1.7.1 https://github.com/google/benchmark/archive/refs/tags/v1.9.5.tar.gz)
fathom_library(CLI11 2.1 https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.2.tar.gz)
fathom_library(nlohmann_json 3.11 https://github.com/nlohmann/json/archive/refs/tags/v3.11.3.tar.gz)
fathom_library(pugixml 1.11 https://github.com/zeux/pugixml/archive/refs/tags/v1.14.tar.gz)
if(BUILD_TESTING)
  fathom_library(GTest 1.12 https://github.com/google/googletest/archive/refs/tags/v1.14.0.tar.gz)
endif()

# fathom_installed_library(NAME TITLE DEBIAN FEDORA): a library that is not downloaded.
function(fathom_installed_library name title debian fedora)
  find_package(${name} QUIET)
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "${title} is missing: install ${debian} (Debian, Ubuntu) or ${fedora} (Fedora), "
      "or give its folder with -DCMAKE_PREFIX_PATH=DIR.")
  endif()
endfunction()

fathom_installed_library(JPEG libjpeg-turbo libjpeg-dev libjpeg-turbo-devel)
fathom_installed_library(FLAC libFLAC libflac-dev flac-devel)
fathom_installed_library(PNG libpng libpng-dev libpng-devel)
fathom_installed_library(ZLIB zlib zlib1g-dev zlib-devel)
