# shellcheck shell=bash
# The servers of the integration tests, built with Go from the modules under scripts/packages/servers.

# go_is_new_enough [MINOR]: the newest of the modules that setup builds requires Go 1.25.
go_is_new_enough() {
  local version minor needed=${1:-25}
  command -v go >/dev/null || return 1
  version=$(GOTOOLCHAIN=local go env GOVERSION 2>/dev/null)
  minor=${version#go1.}
  minor=${minor%%[!0-9]*}
  [[ $version == go1.* && -n $minor ]] && ((minor >= needed))
}

server_pin() {
  local folder=$RATOON_REPO/scripts/packages/servers
  checksum_of "$folder/$1/go.mod" "$folder/$1/go.sum" <(server_field "$1" 4)
}

server_is_present() { is_complete "$(server_folder "$1")" "$(server_pin "$1")"; }

servers_were_skipped=false

ensure_server() {
  local name=$1 began=$SECONDS needed=2000 log=$RATOON_CACHE/logs/$1.log partial
  if server_is_present "$name"; then
    say_step present
    return
  fi
  if ! go_is_new_enough; then
    # shellcheck disable=SC2034  # scripts/setup reads it
    servers_were_skipped=true
    say_step "skipped: no Go 1.25 or newer"
    return
  fi
  if [[ $name == kubernetes ]]; then needed=7000; fi
  require_free_space "$needed" "$name" "$RATOON_CACHE" "$(go env GOMODCACHE)" "$(go env GOCACHE)"
  say_step "building$(if [[ $name == kubernetes ]]; then echo ', five minutes or so'; fi)"
  partial=$(make_partial "$name")
  mkdir "$partial/bin"
  run_logged "$log" build_server "$name" "$partial/bin" || explain_failure "$log" "$name $(server_version "$name")"
  check_programs "$name" "$partial/bin"
  publish "$partial" "$(server_folder "$name")" "$(server_pin "$name")"
  say_step "built in $((SECONDS - began)) s"
}

# build_server NAME BIN: one program is named in the table, since Go would name etcd "server".
build_server() {
  local name=$1 output=$2/ programs
  programs=$(server_field "$name" 3)
  if [[ $programs != *' '* ]]; then output+=$programs; fi
  cd "$RATOON_REPO/scripts/packages/servers/$name" || return 1
  CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS='' GOWORK=off nice go build -mod=readonly -buildvcs=false -trimpath \
    -ldflags "-s -w $(version_flags "$name")" -o "$output" tool
}

version_flags() {
  local version bare major minor rest setting
  version=$(server_version "$1")
  bare=${version#v}
  IFS=. read -r major minor rest <<<"$bare"
  for setting in $(server_field "$1" 4); do
    setting=${setting//'{version}'/$version}
    setting=${setting//'{bare}'/$bare}
    setting=${setting//'{major}'/$major}
    printf -- '-X %s ' "${setting//'{minor}'/$minor}"
  done
}

check_programs() {
  local made
  for made in $(server_field "$1" 3); do
    [[ -x $2/$made ]] || stop "$1 was built, but $made is not among its programs" "correct servers.txt, then $0"
  done
}
