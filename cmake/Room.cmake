# Headers that nearly every file includes are precompiled. A build with FATHOM_PCH=OFF finds missing includes.
option(FATHOM_PCH "Precompile LibTorch's headers" ON)

# fathom_precompile(NAME HEADER ... [OPTIONS ...] [LIBRARIES ...]): precompiles headers for targets with the same compile
# options.
function(fathom_precompile name)
  cmake_parse_arguments(PARSE_ARGV 1 pch "" "" "OPTIONS;LIBRARIES")
  if(FATHOM_PCH)
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/pch.cc CONTENT "")
    add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/pch.cc)
    target_precompile_headers(${name} PRIVATE ${pch_UNPARSED_ARGUMENTS})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
    target_compile_options(${name} PRIVATE ${pch_OPTIONS})
    target_link_libraries(${name} PRIVATE fathom::torch fathom::openmp fathom::warnings ${pch_LIBRARIES})
  endif()
endfunction()
foreach(header pch pch_ops pch_networks)
  fathom_precompile(fathom_${header} ${CMAKE_CURRENT_LIST_DIR}/${header}.h)
endforeach()

# fathom_files(PCH FILE ... [OPTIONS ...]): compiles files of this folder with the precompiled header PCH instead of their
# target's. OPTIONS must be those that PCH was compiled with.
function(fathom_files pch)
  cmake_parse_arguments(PARSE_ARGV 1 files "" "" "OPTIONS")
  set(options ${files_OPTIONS})
  if(FATHOM_PCH)
    get_target_property(folder ${pch} BINARY_DIR)
    set(header ${folder}/CMakeFiles/${pch}.dir/cmake_pch.hxx)
    list(APPEND options -Winvalid-pch -include ${header})
    set_source_files_properties(${files_UNPARSED_ARGUMENTS} PROPERTIES OBJECT_DEPENDS ${header}.gch)
  endif()
  set_source_files_properties(${files_UNPARSED_ARGUMENTS} PROPERTIES
    SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${options}")
endfunction()

# fathom_target(NAME [PCH]): settings for all our libraries and programs.
function(fathom_target name)
  target_link_libraries(${name} PRIVATE fathom::openmp fathom::warnings)
  if(FATHOM_PCH)
    set(pch ${ARGN} fathom_pch)
    list(GET pch 0 pch)
    target_precompile_headers(${name} REUSE_FROM ${pch})
    # With a precompiled header, GCC 12 reports false overflows in std::string, which it else ignores as a system header.
    target_compile_options(${name} PRIVATE
      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow>)
  endif()
endfunction()

# GCC instantiates the templates of LibTorch's headers again in each file, which takes 0.5 to 2.6 s.
option(FATHOM_UNITY "Compile several files of a room at once" ON)

# fathom_room(NAME SOURCES ... [PUBLIC ...] [PRIVATE ...] [PCH ...]): builds a folder of the project as a static library. A
# room may include the rooms that it links with PUBLIC.
function(fathom_room name)
  cmake_parse_arguments(PARSE_ARGV 1 room "" "PCH" "SOURCES;PUBLIC;PRIVATE")
  add_library(${name} STATIC ${room_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${room_PUBLIC} PRIVATE ${room_PRIVATE})
  if(FATHOM_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON)
    target_compile_options(${name} PRIVATE -Wno-subobject-linkage)  # GCC takes an included .cc for a header
  endif()
  fathom_target(${name} ${room_PCH})
endfunction()
