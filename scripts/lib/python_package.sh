# shellcheck shell=bash
# The virtual environment in which the package ratoon for Python is compiled and tested. RATOON_PYTHON_ROOT is its folder.

ensure_python_package() {
  local requirements=$RATOON_REPO/scripts/packages/python.txt log=$RATOON_CACHE/logs/python-package.log pin
  pin=$(checksum_of "$requirements")
  # The Python of the system, of which the environment holds links, may be gone or another one by now.
  if is_complete "$RATOON_PYTHON_ROOT" "$pin" && "$RATOON_PYTHON_ROOT/bin/python3" -c 'import nanobind' 2>/dev/null; then
    say_step present
    return
  fi
  say_step downloading
  rm -rf "$RATOON_PYTHON_ROOT"
  run_logged "$log" install_python_package "$requirements" || explain_failure "$log" "the packages that compile ratoon for Python"
  echo "$pin" >"$RATOON_PYTHON_ROOT/.ratoon-complete"
  say_step installed
}

# An environment cannot be renamed, so it is stamped when it is complete.
install_python_package() {
  python3 -m venv "$RATOON_PYTHON_ROOT" && "$RATOON_PYTHON_ROOT/bin/python3" -m pip install --requirement "$1"
}
