# shellcheck shell=bash
# Installs Debian packages, configures and builds, for fathom_bench, results/launch.sh, tests/run and .ci/run. Prints to
# stderr only.
root=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")

say() { echo "fathom_bench: $*" >&2; }
fail() { say "$*"; exit 2; }

# missing_packages FILE...: prints the packages in FILEs that are not installed. A line holds a package and, for a tool, its
# command, which needs no package if it runs. A package after a question mark is optional.
missing_packages() {
  local package command
  cat "$@" | while read -r package command; do
    if [[ $command ]] && $command --version &>/dev/null </dev/null; then
      continue
    elif [[ -z $command || $package == \?* ]] && ! command -v apt-get >/dev/null; then
      continue # CMake finds or downloads libraries
    elif ! dpkg-query -W -f '${db:Status-Status}' "${package#\?}" 2>/dev/null | grep -qx installed; then
      echo "$package"
    fi
  done
}

# available PACKAGE...: prints the packages, without optional ones that apt does not know.
available() {
  local package
  for package; do
    [[ $package == \?* && ! $(apt-cache show "${package#\?}" 2>/dev/null) ]] || echo "${package#\?}"
  done
}

# install_packages FILE...: installs missing packages with apt-get if the user is root, else prints the command and exits.
install_packages() {
  local missing log=$root/build/packages.log
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  if ! command -v apt-get >/dev/null; then
    fail "please install (Debian's names): ${missing[*]}"
  elif [[ ! $(available "${missing[@]}") ]]; then
    return 0
  elif ((EUID)); then
    [[ ${missing[*]} =~ (^| )[^?] ]] || return 0 # only optional ones
    mapfile -t missing < <(available "${missing[@]}")
    fail "please run: sudo apt-get install --no-install-recommends ${missing[*]}"
  else
    export DEBIAN_FRONTEND=noninteractive
    mkdir -p "$root/build"
    apt-get update &>"$log" </dev/null || fail "could not install packages: $(tail -n 1 "$log") ($log)"
    mapfile -t missing < <(available "${missing[@]}")
    say "installing ${missing[*]}"
    apt-get install -y --no-install-recommends "${missing[@]}" &>>"$log" </dev/null ||
      fail "could not install packages: $(tail -n 1 "$log") ($log)"
  fi
}

# gpu_tools: prints what decides whether CUDA is on: the NVIDIA driver, the nvcc of each toolkit with the time of its last
# change, and the C++ compiler for nvcc.
gpu_tools() {
  local driver nvcc found=()
  if [[ -r /proc/driver/nvidia/version ]]; then
    read -r driver </proc/driver/nvidia/version
    echo "driver $driver"
  elif command -v nvidia-smi >/dev/null ||
    [[ $(PATH=$PATH:/sbin ldconfig -p 2>/dev/null) == *libcuda.so.1\ * ]]; then # WSL has no such file
    echo "driver"
  fi
  mapfile -t found < <(type -aP nvcc)
  mapfile -t found < <(readlink -e "${CUDACXX:-/}" "${found[@]}" /usr/local/cuda/bin/nvcc)
  for nvcc in "${found[@]}"; do
    [[ -d $nvcc ]] || stat -c 'nvcc %Y %n' "$nvcc"
  done
  [[ -z ${CUDAHOSTCXX-} ]] || echo "host $CUDAHOSTCXX"
}

# gpu_tools_changed: whether gpu_tools prints something else than when CMake configured $build.
gpu_tools_changed() {
  [[ -e $build/gpu_tools.txt && $(gpu_tools) != "$(<"$build/gpu_tools.txt")" ]]
}

# configure PRESET: with the options of $configure_options where it is set, which choose the preset, too.
configure() {
  local preset=$1 errors=$root/build/$1/configure.err version
  version=$(cmake --version | sed -n '1s/.* //p')
  printf '%s\n' 3.25 "$version" | sort -VC ||
    fail "CMake $version is too old: 3.25 or newer is needed (python3 -m pip install cmake)"
  say "configuring build/$preset"
  cmake -S "$root" -B "$build" "${configure_options[@]:---preset=$preset}" --log-level=NOTICE >&2 2>"$errors" </dev/null && return
  fail "could not configure:$(cmake_errors "$errors")(full output: $errors)"
}

# cmake_errors FILE: CMake's error messages in one line.
cmake_errors() {
  sed -n '/^CMake Error/,/^Call Stack/p' "$1" |
    sed 's/^CMake Error at .*://; s/^CMake Error: / /; /^Call Stack/d' | tr -s '\n ' ' '
}

# install_wheels NAME: runs cmake/NAME.cmake, which installs Python packages into FATHOM_DEPS_DIR.
install_wheels() {
  local errors
  { errors=$(cmake -P "$root/cmake/$1.cmake" 2>&1 >&3 </dev/null); } 3>&2 ||
    fail "no Python packages:$(cmake_errors /dev/stdin <<<"$errors")"
}

# must_configure: whether $build is not configured, or for other packages or GPU tools than there are.
must_configure() {
  [[ ! -e $build/build.ninja || $root/build/packages.log -nt $build/build.ninja ]] || gpu_tools_changed
}

# is_built TARGET: whether TARGET in $build is up to date.
is_built() {
  [[ $(ninja -C "$build" -n "$1" 2>&1) == *"no work to do"* ]]
}

# ninja_status: how a build shows its progress: finished and all commands, the time so far and, where Ninja knows it, the
# remaining time.
ninja_status() {
  if printf '%s\n' 1.12 "$(ninja --version)" | sort -VC; then
    echo '[%f/%t, %w, about %W left] '
  else
    echo '[%f/%t, %p, %e s] '
  fi
}

# lock_builds: waits until this process alone builds in $root/build, and sets $lock. The file says which process that is.
lock_builds() {
  local file=$root/build/lock holder
  { exec {lock}<>"$file"; } 2>/dev/null || fail "$root/build cannot be written"
  if ! flock -n "$lock"; then
    holder=$(<"$file")
    say "waiting for ${holder:-another process}, which builds in $root/build"
    flock "$lock"
  fi
  echo "process $$ ($0${1+ $*})" >"$file"
}

# set_up PRESET TARGET [PACKAGES...]: installs, configures and builds what is missing, and sets $build. Checks the packages of
# the build only if nothing is configured, so that a start without changes is fast, and those in PACKAGES always. Waits for
# another process that builds only if there is something to do.
set_up() {
  local preset=$1 target=$2 lock source error
  shift 2
  build=$root/build/$preset
  error=$(mkdir -p "$build" 2>&1) || fail "$error"
  if [[ -e $build/CMakeCache.txt ]]; then
    source=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$build/CMakeCache.txt")
    [[ -z $source || $source -ef $root ]] || # Ninja would build the other folder's sources
      fail "build/$preset was configured in $source, before it was copied or moved to $root; please run: rm -r ${build@Q}"
  fi
  if ! must_configure && is_built "$target" && [[ $# == 0 || ! $(missing_packages "$@") ]]; then
    return
  fi
  lock_builds "$preset"
  trap 'say "interrupted; the next start continues from here"; exit 130' INT TERM
  if [[ ! -e $build/build.ninja ]]; then
    install_packages "$root/cmake/packages.txt" "$@"
  elif (($#)); then
    install_packages "$@"
  fi
  if must_configure; then
    ! gpu_tools_changed || say "the NVIDIA driver, a CUDA toolkit or CUDAHOSTCXX has changed"
    configure "$preset"
  fi
  if ! is_built "$target"; then
    say "building build/$preset"
    (cd "$build" && NINJA_STATUS=${NINJA_STATUS-$(ninja_status)} ninja "$target") >&2 </dev/null ||
      fail "could not build, see above"
  fi
  trap - INT TERM
  : >"$root/build/lock"
  exec {lock}<&-
}

# run_tests [PYTEST OPTION...]: runs pytest with the programs in $build.
run_tests() {
  FATHOM_DEPS_DIR=$(sed -n 's/^FATHOM_DEPS_DIR:PATH=//p' "$build/CMakeCache.txt")
  export FATHOM_DEPS_DIR FATHOM_BENCH=$build/fathom_bench
  install_wheels dashboards # the virtual environments for tests/results
  export PYTHONDONTWRITEBYTECODE=1 CMAKE_GENERATOR=Ninja # for projects that tests configure
  cd "$root" || exit
  exec "$(command -v pytest-3 || echo pytest)" "$@" # Debian and Fedora call pytest pytest-3
}
