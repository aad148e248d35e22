# Small libraries: those of the system, else a pinned upstream release.
include(Download)
include(FetchContent)
set(BENCHMARK_ENABLE_TESTING OFF)
set(BENCHMARK_ENABLE_INSTALL OFF)
set(INSTALL_GTEST OFF)
set(PUGIXML_INSTALL OFF)
set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # the variables above override options of the same name

macro(fathom_library name version url sha256)
  find_package(${name} ${version} QUIET)
  if(NOT ${name}_FOUND)
    get_filename_component(file "${url}" NAME)
    set(archive "${FETCHCONTENT_BASE_DIR}/${name}-${file}")
    string(TOUPPER "${name}" upper)
    if(NOT EXISTS "${archive}" AND NOT FETCHCONTENT_SOURCE_DIR_${upper})  # FetchContent would try six times and print the error each time
      fathom_say("${name} is not installed: downloading ${url}")
      fathom_download("${url}" ${sha256} "${archive}" error)
      if(error)
        message(FATAL_ERROR "${name} ${version} or newer is not installed, and ${url} could not be downloaded (${error}). "
          "Install it, give its folder with -DCMAKE_PREFIX_PATH=DIR, or start again with network access.")
      endif()
    endif()
    # CMake 3.25 would read a SYSTEM after URL as a second URL.
    FetchContent_Declare(${name} SYSTEM URL "${archive}" URL_HASH SHA256=${sha256})
    FetchContent_MakeAvailable(${name})
  endif()
endmacro()

fathom_library(benchmark 1.7.1 https://github.com/google/benchmark/archive/refs/tags/v1.9.5.tar.gz
  9631341c82bac4a288bef951f8b26b41f69021794184ece969f8473977eaa340)
fathom_library(CLI11 2.1 https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.2.tar.gz
  f2d893a65c3b1324c50d4e682c0cdc021dd0477ae2c048544f39eed6654b699a)
fathom_library(nlohmann_json 3.11 https://github.com/nlohmann/json/archive/refs/tags/v3.11.3.tar.gz
  0d8ef5af7f9794e3263480193c491549b2ba6cc74bb018906202ada498a79406)
fathom_library(pugixml 1.11 https://github.com/zeux/pugixml/archive/refs/tags/v1.14.tar.gz
  610f98375424b5614754a6f34a491adbddaaec074e9044577d965160ec103d2e)
if(BUILD_TESTING)
  fathom_library(GTest 1.12 https://github.com/google/googletest/archive/refs/tags/v1.14.0.tar.gz
    8ad598c73ad796e0d8280b082cebd82a630d73e73cd3c70057938a6501bba5d7)
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
