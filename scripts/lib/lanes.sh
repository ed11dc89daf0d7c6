# shellcheck shell=bash
# The lanes of scripts/test: a preset and the tests that run in it. The biggest comes last, so that its closing lines
# close the whole run. The others run when they are asked for.

all_lanes=(asan-ubsan tsan release)
other_lanes=(no-torch fast)
elsewhere='^(nightly|bench|gpu)$'

lane_preset() { if [[ $1 == fast ]]; then echo no-torch; else echo "$1"; fi; }

# lane_selection NAME: the arguments that make ctest pick the lane's tests, one a line.
lane_selection() {
  case $1 in
    fast) printf '%s\n' --label-regex '^(unit|property|tidy)$' --label-exclude '^(long|nightly|bench|gpu)$' ;;
    no-torch) printf '%s\n' --label-exclude '^(install|integration|cluster|torch|nightly|bench|gpu)$' ;;
    asan-ubsan) printf '%s\n' --label-regex '^(unit|property|conformance|sanitizers)$' --label-exclude "$elsewhere" ;;
    tsan) printf '%s\n' --label-regex '^(threads|sanitizers)$' --label-exclude "$elsewhere" ;;
    release) printf '%s\n' --label-exclude '^(unit|conformance|nightly|bench)$' ;;
    *) return 1 ;;
  esac
}

# lane_targets NAME: the targets to build for it; an empty list means all.
lane_targets() {
  case $1 in
    asan-ubsan) printf '%s\n' tests-unit tests-property tests-conformance tests-sanitizers ;;
    tsan) printf '%s\n' tests-threads tests-sanitizers ;;
    release) printf '%s\n' all tests-property ;;
  esac
}

lane_rows=()

# run_lane NAME: builds and tests; the closing lines are left to the caller. On a red lane it ends the script.
run_lane() {
  local lane=$1 preset began built tested selection targets status=0 skips=0
  preset=$(lane_preset "$lane")
  mapfile -t targets < <(lane_targets "$lane")
  mapfile -t selection < <(lane_selection "$lane")
  say "lane $lane: building"
  began=$SECONDS
  rm -f "$RATOON_REPO/build/$preset/closing.txt"
  build_preset "$preset" "${targets[@]}" || end_red "$lane" "did not build"
  built=$SECONDS
  say "lane $lane: built in $((built - began)) s, testing"
  # The simulated worlds of a lane are the same each time: a rare one must not block a change. scripts/nightly draws its own.
  RATOON_FIRST_SEED=${RATOON_FIRST_SEED:-1} run_ctest "$preset" "${selection[@]}" || status=$?
  tested=$SECONDS
  check_skips "$preset" "$lane" || skips=$?
  lane_rows+=("$lane $((built - began)) $((tested - built)) $((status | skips))")
  write_lane_times
  if ((status != 0)); then
    print_closing "$preset"
    end_red "$lane" "has a red test"
  fi
  if ((skips != 0)); then
    print_closing "$preset"
    end_red "$lane" "skipped what it must not skip"
  fi
}

end_red() {
  say "lane $1 $2; to repeat it alone: scripts/test --lane $1" >&2
  exit 1
}

write_lane_times() {
  local row name build test status separator=
  {
    printf '{"lanes": ['
    for row in "${lane_rows[@]}"; do
      read -r name build test status <<<"$row"
      printf '%s\n  {"name": "%s", "build_seconds": %d, "test_seconds": %d, "passed": %s}' "$separator" "$name" \
        "$build" "$test" "$(if ((status == 0)); then echo true; else echo false; fi)"
      separator=,
    done
    printf '\n], "jobs": %d}\n' "$jobs"
  } >"$RATOON_REPO/build/lanes.json"
}

print_lane_table() {
  local row name build test status
  printf '\n%-12s %9s %9s\n' lane 'build min' 'test min'
  for row in "${lane_rows[@]}"; do
    read -r name build test status <<<"$row"
    printf '%-12s %9s %9s\n' "$name" "$(minutes "$build")" "$(minutes "$test")"
    print_skipped "$(lane_preset "$name")"
  done
  echo
}

minutes() { printf '%d.%d' $(($1 / 60)) $(($1 % 60 / 6)); }
