# shellcheck shell=bash
# The package safetensors, which reads exports in a test: the wheel that scripts/packages/readers.txt pins, unpacked.

ensure_readers() {
  local requirements=$RATOON_REPO/scripts/packages/readers.txt log=$RATOON_CACHE/logs/readers.log pin folder partial
  pin=$(checksum_of "$requirements")
  folder=$RATOON_CACHE/readers-$pin
  if is_complete "$folder" "$pin"; then
    say_step present
    return
  fi
  find_pip
  partial=$(make_partial readers)
  say_step downloading
  mkdir "$partial/wheels" "$partial/root"
  run_logged "$log" download_wheels "$requirements" "$partial/wheels" || explain_failure "$log" "the package safetensors"
  run_logged "$log" unpack_wheels "$partial/wheels" "$partial/root" || explain_failure "$log" "the package safetensors"
  publish "$partial/root" "$folder" "$pin"
  rm -rf "$partial"
  say_step installed
}
