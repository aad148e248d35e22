# fathom_wheels(NAMES WHAT HINT OUT): installs the pinned wheels of every wheels/wheels-NAME.txt into a venv in
# FATHOM_DEPS_DIR, which all build trees share, and sets OUT to its path. If wheels/sources-NAME.txt exists, builds the
# packages that it pins, with the installed wheels. Prints WHAT before the download, and HINT after a failure.
include_guard(GLOBAL)

if(NOT DEFINED FATHOM_DEPS_DIR)  # in a script, cmake -P
  if(DEFINED ENV{FATHOM_DEPS_DIR})
    set(FATHOM_DEPS_DIR "$ENV{FATHOM_DEPS_DIR}")
  else()
    cmake_path(SET FATHOM_DEPS_DIR NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../.deps")
  endif()
endif()

# fathom_wheels_installed(NAMES OUT): sets OUT to whether fathom_wheels(NAMES ...) would find everything installed.
function(fathom_wheels_installed names out)
  fathom_pins("${names}")
  set(${out} OFF PARENT_SCOPE)
  if(EXISTS "${venv}/${pins}")
    set(${out} ON PARENT_SCOPE)
  endif()
endfunction()

# Sets venv to the folder of NAMES, pins to a hash of what it must hold, and from_wheels and from_sources to pip's arguments.
macro(fathom_pins names)
  set(pins "")
  set(from_wheels "")
  set(from_sources "")
  foreach(name ${names})
    foreach(kind wheels sources)
      set(file "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/wheels/${kind}-${name}.txt")
      if(kind STREQUAL "sources" AND NOT EXISTS "${file}")
        continue()
      endif()
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
      file(READ "${file}" text)
      string(APPEND pins "${text}")
      list(APPEND from_${kind} -r "${file}")
    endforeach()
    set(venv "${FATHOM_DEPS_DIR}/${name}")
  endforeach()
  string(SHA256 pins "${pins}")
endmacro()

function(fathom_wheels names what hint out)
  fathom_pins("${names}")
  set(${out} "${venv}" PARENT_SCOPE)
  if(EXISTS "${venv}/${pins}")
    return()
  endif()
  file(LOCK "${venv}.lock" GUARD FUNCTION TIMEOUT 0 RESULT_VARIABLE busy)
  if(NOT busy STREQUAL 0)
    fathom_say("Waiting for another process that installs into ${venv}")
    file(LOCK "${venv}.lock" GUARD FUNCTION)
  endif()
  if(EXISTS "${venv}/${pins}")
    return()
  endif()

  find_program(FATHOM_PYTHON NAMES python3 python3.14 python3.13 python3.12 python3.11 python3.10
    VALIDATOR fathom_python_has_pip DOC "CPython 3.10 to 3.14 with pip 22.3 or newer, to install wheels")
  if(NOT FATHOM_PYTHON)
    message(FATAL_ERROR "Could not install ${what}: no CPython 3.10 to 3.14 with pip 22.3 or newer was found "
      "(Debian: apt-get install python3-pip). ${hint}")
  endif()

  # Installs into a new folder and renames it when complete, so that an interrupted installation is never used.
  file(GLOB leftovers "${venv}.new-*")
  string(RANDOM new)
  set(new "${venv}.new-${new}")
  if(leftovers)
    file(REMOVE_RECURSE ${leftovers})
  endif()
  fathom_say("Downloading ${what} into ${venv}")
  execute_process(  # without --without-pip, Debian needs the package python3-venv
    COMMAND ${FATHOM_PYTHON} -m venv --without-pip "${new}" RESULT_VARIABLE failed ERROR_VARIABLE error)
  if(NOT failed)
    file(MAKE_DIRECTORY "${new}/tmp")  # /tmp may be small, and a killed pip leaves files there
    # The user's PIP_ variables would install elsewhere or refuse the pinned versions, and without --ignore-installed pip would
    # leave out what PYTHONPATH has. pip's cache would hold the wheels, up to 2.8 GB, a second time.
    set(install ${CMAKE_COMMAND} -E env
      --unset=PIP_CONSTRAINT --unset=PIP_PREFIX --unset=PIP_TARGET PIP_USER=0 "TMPDIR=${new}/tmp"
      ${FATHOM_PYTHON} -m pip --python "${new}/bin/python" --disable-pip-version-check install --quiet
      --no-cache-dir --no-deps --no-compile --ignore-installed --require-hashes)
    execute_process(COMMAND ${install} --only-binary :all: ${from_wheels} RESULT_VARIABLE failed ERROR_VARIABLE error)
  endif()
  if(from_sources AND NOT failed)
    execute_process(  # with build isolation, pip would download build tools that are not pinned
      COMMAND ${install} --no-binary :all: --no-build-isolation --use-pep517 ${from_sources}
      RESULT_VARIABLE failed ERROR_VARIABLE error)
  endif()
  if(failed)
    file(REMOVE_RECURSE "${new}")
    if(error MATCHES "connection broken by '([A-Za-z]+)")
      set(error "the package index cannot be reached (${CMAKE_MATCH_1})")
    elseif(error MATCHES "ERROR: ([^\n]*[^.\n])")
      set(error "${CMAKE_MATCH_1}")
    endif()
    message(FATAL_ERROR "Could not install ${what}: ${error}. ${hint}")
  endif()
  file(TOUCH "${new}/${pins}")
  file(REMOVE_RECURSE "${new}/tmp" "${venv}")
  file(RENAME "${new}" "${venv}")
endfunction()

function(fathom_python_has_pip result python)  # pip 22.3 has --python
  execute_process(
    COMMAND ${python} -c "import pip, sys; old_pip = [*map(int, pip.__version__.split('.')[:2])] < [22, 3]; sys.exit(old_pip or not (3, 10) <= sys.version_info[:2] <= (3, 14))"
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed)
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

function(fathom_say text)  # prints at every log level
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${text}")
endfunction()
