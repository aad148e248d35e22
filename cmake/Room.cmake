# One precompiled header for all that sees LibTorch. FATHOM_PCH=OFF keeps the includes honest.
option(FATHOM_PCH "Precompile LibTorch's core headers: halves the build" ON)
if(FATHOM_PCH)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/pch.cc CONTENT "")
  add_library(fathom_pch OBJECT ${CMAKE_CURRENT_BINARY_DIR}/pch.cc)
  target_precompile_headers(fathom_pch PRIVATE ${CMAKE_CURRENT_LIST_DIR}/pch.h)
  target_link_libraries(fathom_pch PRIVATE fathom::torch fathom::openmp fathom::warnings)
endif()

# fathom_target(NAME): what every library and program of ours has. The precompiled header asks for the same flags.
function(fathom_target name)
  target_link_libraries(${name} PRIVATE fathom::openmp fathom::warnings)
  if(FATHOM_PCH)
    target_precompile_headers(${name} REUSE_FROM fathom_pch)
  endif()
endfunction()

# fathom_room(NAME SOURCES ... [PUBLIC ...] [PRIVATE ...]): a folder of the project as a static library. What it links
# publicly are the rooms that it may include.
function(fathom_room name)
  cmake_parse_arguments(PARSE_ARGV 1 room "" "" "SOURCES;PUBLIC;PRIVATE")
  add_library(${name} STATIC ${room_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${room_PUBLIC} PRIVATE ${room_PRIVATE})
  fathom_target(${name})
endfunction()
