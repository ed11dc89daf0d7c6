# shellcheck shell=bash
# The environment of the Python peers: made on first use from tests/bench/peers/requirements.txt, in scripts/bench --peers and
# scripts/nightly, never in CI. Lightning, and accelerate for the Trainer of Hugging Face, are in a folder of their own: another
# version of them must not download PyTorch again. tests/python needs them.

# ensure_peers: sets `peers` to the folder of the environment.
peers=
ensure_peers() {
  local requirements=$RATOON_REPO/tests/bench/peers/requirements.txt log=$RATOON_CACHE/logs/peers.log pin
  [[ -e $requirements ]] || stop "there are no peers to run: $requirements is missing" "scripts/bench"
  pin=$(checksum_of "$requirements")
  peers=$RATOON_CACHE/peers-$pin
  lock_cache
  # The Python of the system, of which the environment holds links, may be gone or another one by now.
  if ! is_complete "$peers" "$pin" || ! "$peers/bin/python3" -c 'import safetensors' 2>/dev/null; then
    step_count=1
    begin_step "the peers' packages"
    say_step installing
    rm -rf "$peers"
    run_logged "$log" install_peers "$requirements" || explain_failure "$log" "the peers' packages"
    echo "$pin" >"$peers/.ratoon-complete"
  fi
  ensure_trainers
  exec 9>&- # their users may run for hours, and no setup has to wait for them
}

# An environment cannot be renamed, so it is stamped when it is complete.
install_peers() { python3 -m venv "$peers" && "$peers/bin/python3" -m pip install --requirement "$1"; }

ensure_trainers() {
  local requirements=$RATOON_REPO/tests/bench/peers/trainers.txt log=$RATOON_CACHE/logs/trainers.log pin partial
  if [[ ! -e $requirements ]]; then return; fi
  pin=$(checksum_of "$requirements" "$RATOON_REPO/tests/bench/peers/requirements.txt")
  is_complete "$RATOON_CACHE/trainers-$pin" "$pin" && return
  partial=$(make_partial trainers)
  run_logged "$log" install_trainers "$requirements" "$partial" || explain_failure "$log" "Lightning and accelerate"
  publish "$partial" "$RATOON_CACHE/trainers-$pin" "$pin"
}

# Its dependencies are in the environment of the peers.
install_trainers() { "$peers/bin/python3" -m pip install --no-deps --target "$2" --requirement "$1"; }
