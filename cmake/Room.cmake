# Precompiled headers: fathom_pch for all that sees LibTorch, fathom_pch_networks for what is made of its modules.
# FATHOM_PCH=OFF keeps the includes honest.
option(FATHOM_PCH "Precompile LibTorch's headers" ON)
if(FATHOM_PCH)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/pch.cc CONTENT "")
  foreach(header pch pch_networks)
    add_library(fathom_${header} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/pch.cc)
    target_precompile_headers(fathom_${header} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/${header}.h)
    target_include_directories(fathom_${header} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(fathom_${header} PRIVATE fathom::torch fathom::openmp fathom::warnings)
  endforeach()
endif()

# fathom_target(NAME [HEADER]): what every library and program of ours has. A precompiled header asks for the same flags.
function(fathom_target name)
  target_link_libraries(${name} PRIVATE fathom::openmp fathom::warnings)
  if(FATHOM_PCH)
    set(header ${ARGN} fathom_pch)
    list(GET header 0 header)
    target_precompile_headers(${name} REUSE_FROM ${header})
    # GCC 12 reports overflows in std::string that are none. Without a precompiled header it knows them as a system header's.
    target_compile_options(${name} PRIVATE
      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow>)
  endif()
endfunction()

# fathom_room(NAME SOURCES ... [PUBLIC ...] [PRIVATE ...] [HEADER ...]): a folder of the project as a static library. What
# it links publicly are the rooms that it may include.
function(fathom_room name)
  cmake_parse_arguments(PARSE_ARGV 1 room "" "HEADER" "SOURCES;PUBLIC;PRIVATE")
  add_library(${name} STATIC ${room_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${room_PUBLIC} PRIVATE ${room_PRIVATE})
  fathom_target(${name} ${room_HEADER})
endfunction()
