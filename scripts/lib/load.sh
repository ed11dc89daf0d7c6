# shellcheck shell=bash
# Processes that compute without end, for tests that must pass on a busy machine. Each ends with its script, too.

load_pids=()

# start_load NUMBER
start_load() {
  local i
  for ((i = 0; i < $1; ++i)); do
    python3 -c 'import os, sys
parent = int(sys.argv[1])
while os.getppid() == parent:
    for _ in range(10_000_000): pass' "$$" &
    load_pids+=($!)
  done
  # Until it executes python3, a process does not compute.
  local pid
  for pid in "${load_pids[@]}"; do
    until grep --quiet --text 'os.getppid() == parent' "/proc/$pid/cmdline" || ! kill -0 "$pid"; do sleep 0.01; done
  done
}

stop_load() {
  local pid
  for pid in "${load_pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  load_pids=()
  wait
}
