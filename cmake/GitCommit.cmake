# Defines fathom_git_commit, which generates git_commit.h with FATHOM_GIT_COMMIT. The depfile lists every tracked file, so
# that an edit or a commit updates the header, and a build without changes does not run git.
set(header "${PROJECT_BINARY_DIR}/generated/git_commit.h")
set(script "${CMAKE_CURRENT_LIST_DIR}/git_commit.cmake")
add_custom_command(OUTPUT "${header}"
  COMMAND ${CMAKE_COMMAND} -P "${script}" "${PROJECT_SOURCE_DIR}" "${header}"
  DEPENDS "${script}"
  DEPFILE "${PROJECT_BINARY_DIR}/generated/git_commit.d"
  COMMENT "Looking up the git commit"
  VERBATIM)
add_library(fathom_git_commit INTERFACE "${header}")
target_include_directories(fathom_git_commit INTERFACE "${PROJECT_BINARY_DIR}/generated")
