# shellcheck shell=bash
# A pip that works: the machine's own, or one in a virtual environment in the cache.

require_python() {
  command -v python3 >/dev/null ||
    stop "python3 is missing" "apt-get install --no-install-recommends python3 python3-venv, then $0"
}

# find_pip: sets `pip` to the command.
pip=()
find_pip() {
  local folder=$RATOON_CACHE/pip log=$RATOON_CACHE/logs/pip-venv.log
  require_python
  if python3 -m pip --version >/dev/null 2>&1; then
    pip=(python3 -m pip)
    return
  fi
  if ! "$folder/bin/python3" -m pip --version >/dev/null 2>&1; then
    rm -rf "$folder"
    run_logged "$log" python3 -m venv "$folder" || explain_failure "$log" "a virtual environment for pip"
  fi
  pip=("$folder/bin/python3" -m pip)
}
