# shellcheck shell=bash
# The cache outside the tree: each folder in it is complete.

# lock_cache: one setup at a time; a second one waits. Unfinished folders of a killed setup are removed.
lock_cache() {
  # The group of commands keeps the words of bash itself about a lock that it cannot open, such as one of another user.
  { mkdir -p "$RATOON_CACHE" && exec 9>"$RATOON_CACHE/.setup.lock"; } 2>/dev/null ||
    stop "the cache $RATOON_CACHE cannot be written" "set XDG_CACHE_HOME to a folder of yours, then $0"
  if ! flock --nonblock 9; then
    say "another setup works in $RATOON_CACHE; waiting for it"
    flock 9
  fi
  rm -rf "$RATOON_CACHE"/.partial-*
}

# is_complete FOLDER PIN: the folder was published with this pin (a checksum of the list of its contents).
is_complete() { [[ -r $1/.ratoon-complete && $(<"$1/.ratoon-complete") == "$2" ]]; }

checksum_of() { cat "$@" | sha256sum | cut -c1-32; }

make_partial() { mktemp -d "$RATOON_CACHE/.partial-$1.XXXXXX"; }

# publish PARTIAL FOLDER PIN: the stamp is written last before the rename, so that a folder with its final name is whole.
publish() {
  echo "$3" >"$1/.ratoon-complete"
  chmod 755 "$1"
  if [[ -e $2 ]]; then mv "$2" "$(make_partial replaced)/"; fi
  mv -T "$1" "$2"
  rm -rf "$RATOON_CACHE"/.partial-replaced.*
}
