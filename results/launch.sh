# shellcheck shell=bash
# For results/{report,history,gate,ab,export}: installs their Python packages into .deps/results on first use, then becomes
# the program. Nothing is compiled.
# shellcheck source=cmake/setup.sh
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../cmake/setup.sh"
say() { echo "$(basename "$0"): $*" >&2; }

# become PACKAGE ARGUMENTS...: runs a package of results/
become() {
  local deps=${FATHOM_DEPS_DIR:-$root/.deps} pins
  pins=$(sha256sum <"$root/cmake/wheels/wheels-results.txt")
  if [[ ! -e $deps/results/${pins%% *} ]]; then # as cmake/Wheels.cmake marks what is complete
    install_packages "$root/cmake/packages-results.txt"
    mkdir -p "$deps" || fail "cannot write to $deps"
    errors=$(mktemp)
    trap 'rm -f "$errors"' EXIT
    cmake -D FATHOM_DEPS_DIR="$deps" -P "$root/cmake/results.cmake" >&2 2>"$errors" </dev/null ||
      fail "no Python packages:$(cmake_errors "$errors")"
    rm -f "$errors"
  fi
  unset PYTHONDONTWRITEBYTECODE # compiling pandas and SciPy anew takes longer than a report
  # A folder of Matplotlib's own, so that nobody's settings change the figures.
  export PYTHONPATH=$root/results MPLCONFIGDIR=$deps/results/matplotlib
  exec "$deps/results/bin/python" -s -m "$@"
}
