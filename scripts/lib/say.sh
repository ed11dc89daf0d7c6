# shellcheck shell=bash
# How the scripts speak: progress on standard output, one sentence with the next command on standard error.

program=$(basename "$0")

say() { printf '%s: %s\n' "$program" "$*"; }

# stop SENTENCE NEXT: ends the script with the fault and the next command.
stop() {
  printf '%s: %s. Next: %s\n' "$program" "$1" "$2" >&2
  exit 1
}

refuse_usage() {
  printf '%s: %s. Next: %s --help\n' "$program" "$1" "$0" >&2
  exit 2
}

# print_help: the comment block at the top of the calling script is its help.
print_help() { awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"; }

step_number=0
step_count=0
step_title=

begin_step() {
  step_number=$((step_number + 1))
  step_title=$1
}

# say_step WHAT: one progress line for the step that begin_step named.
say_step() { say "[$step_number/$step_count] $step_title ... $1"; }

# run_logged LOG COMMAND...: runs a long command quietly, with a line of progress every half minute.
run_logged() {
  local log=$1 heartbeat status=0
  shift
  mkdir -p "$(dirname "$log")"
  exec {heartbeat}> >(print_heartbeat 9>&-)
  "$@" >"$log" 2>&1 </dev/null {heartbeat}>&- || status=$?
  exec {heartbeat}>&-
  return "$status"
}

# print_heartbeat: until its input closes, which it does even when the script is killed.
print_heartbeat() {
  local seconds=0 status=0
  while read -r -t 30 || status=$? && ((status > 128)); do
    seconds=$((seconds + 30))
    status=0
    say_step "$seconds s so far"
  done
}
