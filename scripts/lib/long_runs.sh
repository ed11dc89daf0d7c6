# shellcheck shell=bash
# The long versions of tests: property tests with fresh seeds, tests labelled nightly, fuzz targets. Each takes the
# seconds it may use, and prints one command that replays a failure.

red_commands=()

fresh_seed() { od -An -N4 -tu4 /dev/urandom | tr -d ' '; }

# run_nightly_tests PRESET SECONDS
run_nightly_tests() {
  local preset=$1 seconds=$2 minutes=$((($2 + 59) / 60))
  local command=(ctest --test-dir "build/$preset" --label-regex '^nightly$' --output-on-failure --timeout "$seconds")
  say "tests labelled nightly, $seconds s at most each"
  RATOON_NIGHTLY_MINUTES=$minutes "${command[@]}" --no-tests=ignore --parallel "$jobs" ||
    red_commands+=("RATOON_NIGHTLY_MINUTES=$minutes ctest --test-dir build/$preset --rerun-failed --output-on-failure")
}

# run_property_rounds PRESET SECONDS: at least one round; each round has a new seed and ten times the usual cases.
run_property_rounds() {
  local preset=$1 end=$((SECONDS + $2)) seed parameters rounds=0
  while ((rounds == 0 || SECONDS < end)); do
    rounds=$((rounds + 1))
    seed=$(fresh_seed)
    parameters="seed=$seed max_success=1000"
    say "property tests, round $rounds: RC_PARAMS='$parameters'"
    if ! RC_PARAMS=$parameters ctest --test-dir "build/$preset" --label-regex '^property$' --output-on-failure \
      --parallel "$jobs" --timeout 600 --no-tests=ignore --quiet --output-log "build/$preset/property.log"; then
      tail -n 60 "build/$preset/property.log"
      red_commands+=("RC_PARAMS='$parameters' ctest --test-dir build/$preset --rerun-failed --output-on-failure")
      return
    fi
  done
  say "property tests: $rounds rounds"
}

# run_fuzz_targets SECONDS: shared evenly; the corpus is kept in the cache, findings under build/fuzz/findings.
run_fuzz_targets() {
  local targets target name corpus seed share findings=build/fuzz/findings
  mapfile -t targets < <(find build/fuzz/bin -maxdepth 1 -name 'fuzz_*' -type f -perm -u+x 2>/dev/null | sort)
  if ((${#targets[@]} == 0)); then
    say "no fuzz target was built"
    return
  fi
  share=$(($1 / ${#targets[@]} + 1))
  mkdir -p "$findings"
  for target in "${targets[@]}"; do
    name=$(basename "$target")
    corpus=$RATOON_CACHE/corpus/$name
    mkdir -p "$corpus"
    seed=$(fresh_seed)
    say "$name: $share s, seed $seed"
    if ! "$target" -max_total_time="$share" -seed="$seed" -artifact_prefix="$findings/$name-" -print_final_stats=1 \
      "$corpus" $(seed_corpus "$name") >"$findings/$name.log" 2>&1; then
      tail -n 40 "$findings/$name.log"
      red_commands+=("$target $(newest_finding "$findings/$name-")")
    fi
  done
}

# seed_corpus NAME: the inputs that the tree brings, if it brings any.
seed_corpus() { if [[ -d tests/fuzz/corpus/$1 ]]; then echo "tests/fuzz/corpus/$1"; fi; }

newest_finding() { find "$(dirname "$1")" -name "$(basename "$1")*" -printf '%T@ %p\n' | sort -rn | sed -n '1s/^[^ ]* //p'; }
