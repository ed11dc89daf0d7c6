# shellcheck shell=bash
# LibTorch and NCCL: the wheels that scripts/packages/libtorch.txt pins, unpacked into the cache.

ensure_libtorch() {
  local requirements=$RATOON_REPO/scripts/packages/libtorch.txt pin
  if [[ $RATOON_LIBTORCH_ROOT != "$RATOON_CACHE"/* ]]; then
    use_named_libtorch
    return
  fi
  if [[ $(uname -m) != x86_64 ]]; then
    stop "LibTorch's pinned wheels are for x86_64, and this machine is $(uname -m)" \
      "install a LibTorch $libtorch_version, name it in CMAKE_PREFIX_PATH, then $0; or $0 --without-libtorch"
  fi
  pin=$(checksum_of "$requirements")
  if is_complete "$RATOON_LIBTORCH_ROOT" "$pin"; then
    say_step present
  else
    fetch_libtorch "$requirements" "$pin"
  fi
}

use_named_libtorch() {
  local variable=RATOON_LIBTORCH_ROOT
  if [[ $RATOON_LIBTORCH_ROOT == "$(find_own_libtorch)" ]]; then variable="Torch_DIR or CMAKE_PREFIX_PATH"; fi
  if [[ ! -e $RATOON_LIBTORCH_ROOT/torch/lib/libtorch_cpu.so && ! -e $RATOON_LIBTORCH_ROOT/lib/libtorch_cpu.so ]]; then
    stop "$variable names $RATOON_LIBTORCH_ROOT, which has neither torch/lib/libtorch_cpu.so nor lib/libtorch_cpu.so" \
      "unset $variable, then $0"
  fi
  say_step "using yours at $RATOON_LIBTORCH_ROOT; nothing is downloaded"
}

fetch_libtorch() {
  local requirements=$1 pin=$2 began=$SECONDS partial
  require_free_space 3000 "LibTorch" "$RATOON_CACHE"
  find_pip
  partial=$(make_partial libtorch)
  say_step "downloading 740 MB"
  mkdir "$partial/wheels" "$partial/root"
  TMPDIR=$partial run_logged "$RATOON_CACHE/logs/libtorch.log" download_wheels "$requirements" "$partial/wheels" ||
    explain_failure "$RATOON_CACHE/logs/libtorch.log" "LibTorch $libtorch_version"
  say_step "unpacking, $((SECONDS - began)) s so far"
  run_logged "$RATOON_CACHE/logs/libtorch-unpack.log" unpack_wheels "$partial/wheels" "$partial/root" ||
    explain_failure "$RATOON_CACHE/logs/libtorch-unpack.log" "unpacking LibTorch"
  if [[ ! -e $partial/root/torch/lib/libtorch_cpu.so || ! -d $partial/root/nvidia ]]; then
    stop "the wheels hold no torch/lib/libtorch_cpu.so" "correct scripts/packages/libtorch.txt, then $0"
  fi
  publish "$partial/root" "$RATOON_LIBTORCH_ROOT" "$pin"
  rm -rf "$partial"
  say_step "installed in $((SECONDS - began)) s"
}

download_wheels() {
  local platform platforms=()
  for platform in 2_28 2_25 2_18 2_17; do platforms+=(--platform "manylinux_${platform}_x86_64"); done
  "${pip[@]}" download --no-cache-dir --no-deps --only-binary=:all: --require-hashes --python-version 3.11 \
    --implementation cp --abi cp311 "${platforms[@]}" --dest "$2" --requirement "$1"
}

unpack_wheels() {
  local wheel
  for wheel in "$1"/*.whl; do
    python3 -m zipfile -e "$wheel" "$2" || return 1
    rm "$wheel"
  done
}
