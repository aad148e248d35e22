# cmake -P git_commit.cmake SOURCE_DIR HEADER: writes HEADER, only if it changes, and its depfile.
set(source "${CMAKE_ARGV3}")
set(header "${CMAKE_ARGV4}")

function(git out)
  # git refuses a folder of another user, as a container sees that of its host.
  execute_process(COMMAND git -c safe.directory=* -C "${source}" ${ARGN}
    OUTPUT_VARIABLE text ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

git(commit describe --always --dirty --abbrev=40 --exclude=*)
if(NOT commit)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT "${header}" CONTENT "#define FATHOM_GIT_COMMIT \"${commit}\"\n")

git(heads rev-parse --path-format=absolute --git-path HEAD --git-path logs/HEAD)
git(tracked ls-files)
string(REPLACE "\n" ";" heads "${heads}")
string(REPLACE "\n" ";" tracked "${tracked}")
list(TRANSFORM tracked PREPEND "${source}/")
string(REPLACE " " "\\ " rule "${header}:")
foreach(file IN LISTS heads tracked)
  if(EXISTS "${file}")  # a missing file would run this script at every build
    string(REPLACE " " "\\ " file "${file}")
    string(APPEND rule " \\\n  ${file}")
  endif()
endforeach()
cmake_path(REPLACE_EXTENSION header LAST_ONLY d OUTPUT_VARIABLE depfile)
file(WRITE "${depfile}" "${rule}\n")
