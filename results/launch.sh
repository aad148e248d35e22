# shellcheck shell=bash
# For results/{report,compare,history,gate,ab,export,predict}. The first use installs the Python packages into .deps/results.
# Nothing is compiled.
# shellcheck source=cmake/setup.sh
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../cmake/setup.sh"
say() { echo "$(basename "$0"): $*" >&2; }

# run_package PACKAGE ARGUMENTS...: replaces the shell with a package of results/
run_package() {
  local deps=${FATHOM_DEPS_DIR:-$root/.deps} pins installed
  pins=$(sha256sum <"$root/cmake/wheels/wheels-results.txt")
  installed=$deps/results/${pins%% *} # cmake/Wheels.cmake creates this file when all wheels are installed
  if [[ -e $installed ]] && ! "$deps/results/bin/python" -sc \
    'import importlib.util, sys; sys.exit(not importlib.util.find_spec("pandas"))' &>/dev/null; then
    rm "$installed" # the system's Python has another version now
  fi
  if [[ ! -e $installed ]]; then
    install_packages "$root/cmake/packages-results.txt"
    mkdir -p "$deps" || fail "cannot write to $deps"
    FATHOM_DEPS_DIR=$deps install_wheels results
  fi
  unset PYTHONDONTWRITEBYTECODE # without .pyc files, pandas and SciPy take longer to import than a report to make
  # Matplotlib ignores the user's settings, so figures look the same everywhere.
  export PYTHONPATH=$root/results MPLCONFIGDIR=$deps/results/matplotlib
  exec "$deps/results/bin/python" -s -m "$@"
}
