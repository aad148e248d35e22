# shellcheck shell=bash
# Replaces the shell of results/NAME with the package fathom_NAME. The first use installs the Python packages into
# .deps/results. Nothing is compiled.
set -euo pipefail
program=$(readlink -f "$0")
# shellcheck source=cmake/setup.sh
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../cmake/setup.sh"
say() { echo "$(basename "$0"): $*" >&2; }
trap '(($? == 0)) || exit 2' EXIT # 1 is a finding

deps=${FATHOM_DEPS_DIR:-$root/.deps}
python=$deps/results/bin/python
pins=$(sha256sum <"$root/cmake/wheels/wheels-results.txt")
installed=$deps/results/${pins%% *} # cmake/Wheels.cmake creates this file when all wheels are installed
# The user's settings may end Python with 1 before the program starts, or keep it from writing .pyc files, without which
# pandas and SciPy take longer to import than a report to make.
unset "${!PYTHON@}"
# Python ignores modules of the current folder, and Matplotlib the user's settings, so figures look the same everywhere.
export PYTHONPATH=$root/results PYTHONSAFEPATH=1 MPLCONFIGDIR=$deps/results/matplotlib
if [[ -e $installed ]] && ! "$python" -sc \
  'import importlib.util, sys; sys.exit(not importlib.util.find_spec("pandas"))' &>/dev/null; then
  # The system's Python has another version now.
  rm -f "$installed" 2>/dev/null ||
    fail "$python does not run or lacks pandas; FATHOM_DEPS_DIR=DIR installs the packages into another folder"
fi
if [[ ! -e $installed ]]; then
  install_packages "$root/cmake/packages-results.txt"
  error=$(mkdir -p "$deps" 2>&1) || fail "$error"
  FATHOM_DEPS_DIR=$deps install_wheels results
fi
exec "$python" -s -m fathom_runs.program "fathom_${program##*/}" "$@"
