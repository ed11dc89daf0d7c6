# shellcheck shell=bash
# One sentence with the reason of a failed step, from the output of its tool; and the check before a big step.

no_network='could not resolve|temporary failure|name or service not known|no such host|network is unreachable'
no_network+='|newconnectionerror|failed to establish a new connection|max retries exceeded|connection refused'
no_network+='|connection timed out|i/o timeout|unable to connect|could not connect|proxyconnect'
no_space='no space left on device|enough free space|disk quota exceeded'
bad_hash='do not match the hashes|checksum mismatch|hash sum mismatch|security error'

# explain_failure LOG WHAT: ends the script.
explain_failure() {
  local log=$1 what=$2 again="$0"
  if grep -qiE "$no_space" "$log"; then
    stop "$what: the disk is full" "free some space below $RATOON_CACHE or move it with XDG_CACHE_HOME, then $again"
  elif grep -qiE "$bad_hash" "$log"; then
    stop "$what: the download is not what scripts/packages pins (see $log)" "$again, and distrust the network if it stays"
  elif grep -qiE "$no_network" "$log"; then
    stop "$what: no network to the package registry" "connect this machine or set its proxy, then $again"
  fi
  tail -n 15 "$log" | sed 's/^/  | /' >&2
  stop "$what: failed for the reason above" "read $log, then $again"
}

# require_free_space MEGABYTES WHAT FOLDER...: each folder's disk must have that much.
require_free_space() {
  local needed=$1 what=$2 folder available
  shift 2
  for folder in "$@"; do
    mkdir -p "$folder" 2>/dev/null || stop "$what: $folder cannot be written" "set XDG_CACHE_HOME to a folder of yours, then $0"
    available=$(df -Pm "$folder" | awk 'NR == 2 { print $4 }')
    if ((available < needed)); then
      stop "$what: needs $needed MB free at $folder, which has $available MB" \
        "free some space there or set XDG_CACHE_HOME to a larger disk, then $0"
    fi
  done
}
