# shellcheck shell=bash
# The long versions of tests: property tests with fresh seeds, tests labelled nightly, fuzz targets. Each takes the
# seconds it may use, and prints one command that replays a failure.

red_commands=()
only_tests= # a regular expression over names, of tests labelled nightly; empty: all

fresh_seed() { od -An -N4 -tu4 /dev/urandom | tr -d ' '; }

# run_labelled PRESET LABEL SECONDS ENVIRONMENT...: ctest's tests with that label; records the command that replays a
# failure. Tests that are also labelled nightly run only with that label.
run_labelled() {
  local preset=$1 label=$2 seconds=$3 report=build/$1/ctest.xml others=()
  shift 3
  if [[ $label != nightly ]]; then others=(--label-exclude '^nightly$'); fi
  rm -f "$report"
  env "$@" ctest --test-dir "build/$preset" --label-regex "^$label\$" "${others[@]}" ${only_tests:+--tests-regex "$only_tests"} \
    --output-on-failure --no-tests=ignore --parallel "$jobs" --timeout "$seconds" --output-junit "$PWD/$report" \
    --test-output-size-passed 1000000 --test-output-truncation middle && return
  red_commands+=("env $(printf '%q ' "$@")ctest --test-dir build/$preset --output-on-failure -R '$(print_failed "$preset")'")
  return 1
}

# note_part NAME BEFORE: writes the result of a part into docs/nightly.md: red if there are more red commands than before.
note_part() {
  local result=green
  if ((${#red_commands[@]} > $2)); then result=red; fi
  if [[ -e docs/nightly.md ]]; then python3 scripts/lib/nightly_record.py docs/nightly.md part "$1" "$result"; fi
}

# run_nightly_tests PRESET SECONDS: those that only_tests picks. Green only if none was skipped, and each did as much as
# tests/nightly_counts.txt asks.
run_nightly_tests() {
  local counts=("build/$1/nightly.xml" tests/nightly_counts.txt "$only_tests")
  say "tests labelled nightly${only_tests:+ that match $only_tests}, $2 s at most each"
  run_labelled "$1" nightly "$2" RATOON_NIGHTLY_MINUTES=$((($2 + 59) / 60)) \
    "RATOON_FIRST_SEED=$(fresh_seed)" || true
  cp "build/$1/ctest.xml" "build/$1/nightly.xml"
  python3 scripts/lib/nightly_counts.py "${counts[@]}" ||
    red_commands+=("python3 scripts/lib/nightly_counts.py $(printf '%q ' "${counts[@]}")")
  if [[ -e docs/nightly.md ]]; then python3 scripts/lib/nightly_record.py docs/nightly.md tests "${counts[@]}"; fi
}

# run_optimized_tests PRESET: CI runs these tests only under sanitizers, without optimization.
run_optimized_tests() {
  say "unit and conformance tests as optimized code"
  run_labelled "$1" "(unit|conformance)" 900 RATOON_FIRST_SEED=1 || true
}

# run_property_rounds PRESET SECONDS: at least one round; each round has a new seed and ten times the usual cases.
run_property_rounds() {
  local preset=$1 end=$((SECONDS + $2)) parameters rounds=0 log=build/$1/property.log
  while ((rounds == 0 || SECONDS < end)); do
    rounds=$((rounds + 1))
    parameters="seed=$(fresh_seed) max_success=1000"
    say "property tests, round $rounds: RC_PARAMS='$parameters'"
    if ! run_labelled "$preset" property 600 "RC_PARAMS=$parameters" \
      RATOON_SEEDS=20000 "RATOON_FIRST_SEED=$(fresh_seed)" >"$log" 2>&1; then
      tail -n 60 "$log"
      return
    fi
  done
}

# run_fuzz_targets SECONDS: shared evenly; the corpus is kept in the cache, findings under build/fuzz/findings.
run_fuzz_targets() {
  local targets target name corpora words seed share findings=build/fuzz/findings
  mapfile -t targets < <(find build/fuzz/bin -maxdepth 1 -name 'fuzz_*' -type f -perm -u+x 2>/dev/null | sort)
  if ((${#targets[@]} == 0)); then
    say "no fuzz target was built"
    return
  fi
  share=$(($1 / ${#targets[@]} + 1))
  mkdir -p "$findings"
  for target in "${targets[@]}"; do
    name=$(basename "$target")
    corpora=("$RATOON_CACHE/corpus/$name")
    mkdir -p "${corpora[0]}"
    if [[ -d tests/fuzz/corpus/${name#fuzz_} ]]; then corpora+=("tests/fuzz/corpus/${name#fuzz_}"); fi
    words=()
    if [[ -e tests/fuzz/dictionaries/${name#fuzz_}.dict ]]; then words=(-dict="tests/fuzz/dictionaries/${name#fuzz_}.dict"); fi
    seed=$(fresh_seed)
    say "$name: $share s, seed $seed"
    if ! "$target" -max_total_time="$share" -seed="$seed" -timeout=60 -rss_limit_mb=2048 "${words[@]}" \
      -artifact_prefix="$findings/$name-" -print_final_stats=1 "${corpora[@]}" >"$findings/$name.log" 2>&1; then
      tail -n 40 "$findings/$name.log"
      red_commands+=("$target $(newest_finding "$findings/$name-")")
    fi
  done
}

newest_finding() { find "$(dirname "$1")" -name "$(basename "$1")*" -printf '%T@ %p\n' | sort -rn | sed -n '1s/^[^ ]* //p'; }
