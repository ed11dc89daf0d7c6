# shellcheck shell=bash
# The paths of all tools. Every script sources this. Source it by hand for a shell that builds and tests like the scripts:
#   source scripts/lib/env.sh

RATOON_REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if [[ -z ${XDG_CACHE_HOME:-} && -z ${HOME:-} ]]; then
  echo "ratoon: neither XDG_CACHE_HOME nor HOME is set. Next: export HOME, then run the same command again" >&2
  exit 1
fi
RATOON_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/ratoon
libtorch_version=$(sed -n 's/^torch==\([^ ]*\).*/\1/p' "$RATOON_REPO/scripts/packages/libtorch.txt")

# find_own_libtorch: prints the LibTorch that the user's environment names, if it names one. For torch/ of the wheels, it
# prints the folder around torch/, as RATOON_LIBTORCH_ROOT is that folder.
find_own_libtorch() {
  local place places=() own=
  if [[ -n ${Torch_DIR:-} && -e $Torch_DIR/TorchConfig.cmake ]]; then
    own=$(cd "$Torch_DIR/../../.." && pwd)
  else
    IFS=':;' read -r -a places <<<"${CMAKE_PREFIX_PATH:-}"
    for place in "${places[@]}"; do
      if [[ -e $place/share/cmake/Torch/TorchConfig.cmake || -e $place/torch/share/cmake/Torch/TorchConfig.cmake ]]; then
        own=$place
        break
      fi
    done
  fi
  if [[ $own == */torch ]]; then own=${own%/torch}; fi
  echo "$own"
}

if [[ -z ${RATOON_LIBTORCH_ROOT:-} ]]; then
  RATOON_LIBTORCH_ROOT=$(find_own_libtorch)
  RATOON_LIBTORCH_ROOT=${RATOON_LIBTORCH_ROOT:-$RATOON_CACHE/libtorch-$libtorch_version}
fi
python_pin=$(sha256sum "$RATOON_REPO/scripts/packages/python.txt" | cut -c1-32)
RATOON_PYTHON_ROOT=$RATOON_CACHE/python-$python_pin
export RATOON_REPO RATOON_CACHE RATOON_LIBTORCH_ROOT RATOON_PYTHON_ROOT

# ccache hits across clones at different paths: paths below the repository are hashed relative to it, and the folder of
# the build is not hashed. A precompiled header needs the sloppiness; it also ignores the language of messages.
export CCACHE_DIR=${CCACHE_DIR:-$RATOON_CACHE/ccache}
export CCACHE_BASEDIR=$RATOON_REPO
export CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime,locale
export CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-5G}

# Property tests draw their seeds from the commit, so that each commit tests other cases.
RATOON_COMMIT=${RATOON_COMMIT:-$(git -C "$RATOON_REPO" rev-parse HEAD 2>/dev/null || true)}
export RATOON_COMMIT

# server_names [nightly]: the folders of scripts/packages/servers that the tests of CI use, or those of nightly tests
# alone, in the order of their table.
server_names() {
  awk -F' *[|] *' -v only="${1:-}" '/^[^#]/ && $5 == only { print $1 }' \
    "$RATOON_REPO/scripts/packages/servers/servers.txt"
}

# server_field NAME COLUMN
server_field() {
  awk -F' *[|] *' -v name="$1" -v column="$2" '$1 == name { print $column }' \
    "$RATOON_REPO/scripts/packages/servers/servers.txt"
}

# server_version NAME: the version in the server's go.mod.
server_version() {
  awk -v module="$(server_field "$1" 2)" '{ sub(/^require[ \t]+/, "") } $1 == module { print $2; exit }' \
    "$RATOON_REPO/scripts/packages/servers/$1/go.mod"
}

server_folder() { echo "$RATOON_CACHE/servers-$1-$(server_version "$1")"; }

# export_server_paths: puts the servers that are there on PATH; RATOON_SERVERS_BIN lists the same folders.
export_server_paths() {
  local name folder
  RATOON_SERVERS_BIN=
  for name in $(server_names) $(server_names nightly); do
    folder=$(server_folder "$name")/bin
    if [[ -d $folder ]]; then RATOON_SERVERS_BIN+=${RATOON_SERVERS_BIN:+:}$folder; fi
  done
  export RATOON_SERVERS_BIN
  if [[ -n $RATOON_SERVERS_BIN ]]; then export PATH=$RATOON_SERVERS_BIN:$PATH; fi
}
