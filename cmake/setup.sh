# shellcheck shell=bash
# For fathom_bench, results/launch.sh, tests/run, .ci/run: Debian packages, configure, build. All it prints goes to stderr.
root=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")

say() { echo "fathom_bench: $*" >&2; }
fail() { say "$*"; exit 2; }

# missing_packages FILE...: a line is a package and, if it is a tool, the command that proves that it is there.
missing_packages() {
  local package command
  cat "$@" | while read -r package command; do
    if [[ $command ]] && $command --version &>/dev/null </dev/null; then
      continue
    elif [[ -z $command ]] && ! command -v apt-get >/dev/null; then
      continue # CMake finds or fetches libraries
    elif ! dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed; then
      echo "$package"
    fi
  done
}

# install_packages FILE...
install_packages() {
  local missing log=$root/build/packages.log
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  if ! command -v apt-get >/dev/null; then
    fail "please install (Debian's names): ${missing[*]}"
  elif ((EUID)); then
    fail "please run: sudo apt-get install --no-install-recommends ${missing[*]}"
  else
    say "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    mkdir -p "$root/build"
    { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } &>"$log" </dev/null ||
      fail "could not install packages: $(tail -n 1 "$log") ($log)"
  fi
}

configure() {
  local preset=$1 errors=$root/build/$1/configure.err
  say "configuring build/$preset"
  cmake -S "$root" --preset "$preset" --log-level=NOTICE >&2 2>"$errors" </dev/null && return
  fail "could not configure:$(cmake_errors "$errors")(all of it: $errors)"
}

# cmake_errors FILE: what CMake wrote to stderr, in one line.
cmake_errors() {
  sed -n '/^CMake Error/,/^Call Stack/p' "$1" |
    sed 's/^CMake Error at .*://; s/^CMake Error: //; /^Call Stack/d' | tr -s '\n ' ' '
}

# set_up PRESET TARGET [PACKAGES...]: installs, configures and builds what is not there yet, and sets $build. The lists
# of packages are looked at when they are given or nothing is configured: a start with nothing to do takes 50 ms.
set_up() {
  local preset=$1 target=$2 lock
  shift 2
  build=$root/build/$preset
  mkdir -p "$build" || fail "cannot write to $root"
  exec {lock}<"$root/build"
  flock -n "$lock" || { say "waiting for another set-up in $root/build"; flock "$lock"; }
  trap 'say "interrupted; the next start goes on from here"; exit 130' INT TERM
  if (($#)) || [[ ! -e $build/build.ninja ]]; then
    install_packages "$root/cmake/packages.txt" "$@"
  fi
  if [[ ! -e $build/build.ninja || $root/build/packages.log -nt $build/build.ninja ]]; then
    configure "$preset"
  fi
  if [[ $(ninja -C "$build" -n "$target" 2>&1) != *"no work to do"* ]]; then
    say "building build/$preset"
    (cd "$build" && ninja "$target") >&2 </dev/null || fail "could not build, see above"
  fi
  trap - INT TERM
  exec {lock}<&-
}
