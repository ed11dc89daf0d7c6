# shellcheck shell=bash
# Configuring, building and testing one preset.

jobs=$(nproc)

# build_preset PRESET [TARGET...]
build_preset() {
  local preset=$1 options=()
  shift
  if [[ -n ${RATOON_WERROR:-} ]]; then options+=("-DRATOON_WERROR=$RATOON_WERROR"); fi
  if [[ $preset == release ]]; then
    options+=("-DRATOON_WITH_PYTHON=$(has_python_package)" "-DRATOON_PYTHON_ROOT=$RATOON_PYTHON_ROOT")
  fi
  (cd "$RATOON_REPO" && cmake --preset "$preset" "${options[@]}" --log-level=NOTICE) &&
    cmake --build "$RATOON_REPO/build/$preset" --parallel "$jobs" ${1:+--target "$@"}
}

# The package ratoon for Python is built if scripts/setup has installed the packages that compile it.
has_python_package() { if [[ -e $RATOON_PYTHON_ROOT/.ratoon-complete ]]; then echo ON; else echo OFF; fi; }

# run_ctest PRESET ARGUMENT...: prints ctest's report while it runs, except for its closing lines. These are kept in
# build/<preset>/closing.txt, so that other lines can be printed before them.
run_ctest() {
  local folder=$RATOON_REPO/build/$1
  shift
  : >"$folder/closing.txt"
  rm -f "$folder/ctest.xml"
  # Tests wait for much of their time: half as many again as there are jobs keep the cores busy.
  # Skipped cases of a program are listed at the end of its output, which is never cut off.
  ctest --test-dir "$folder" --parallel $((jobs + (jobs + 1) / 2)) --output-on-failure --no-tests=error --timeout 900 \
    --test-output-size-passed 65536 --test-output-truncation middle --output-junit "$folder/ctest.xml" "$@" 2>&1 |
    python3 -u "$RATOON_REPO/scripts/lib/ctest_progress.py" "$folder/closing.txt"
}

# print_closing PRESET
print_closing() { cat "$RATOON_REPO/build/$1/closing.txt"; }

# check_skips PRESET LANE: red when something was skipped that tests/expected_skips.txt does not expect on this machine.
check_skips() {
  python3 "$RATOON_REPO/scripts/lib/ctest_report.py" unexpected "$RATOON_REPO/build/$1/ctest.xml" \
    "$RATOON_REPO/tests/expected_skips.txt" "$2"
}

# print_skipped PRESET: which tests and which cases within programs were skipped, and the reason that each one printed.
print_skipped() { python3 "$RATOON_REPO/scripts/lib/ctest_report.py" skipped "$RATOON_REPO/build/$1/ctest.xml"; }

# print_failed PRESET: a regular expression over the names of its failed tests, for ctest -R.
print_failed() { python3 "$RATOON_REPO/scripts/lib/ctest_report.py" failed "$RATOON_REPO/build/$1/ctest.xml"; }
