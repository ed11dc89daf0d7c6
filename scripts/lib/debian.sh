# shellcheck shell=bash
# Debian packages: one apt-get call for those that are missing, none when all are there.

package_lines() { awk -F' *[|] *' -v stages="$*" '/^[^#]/ && index(" " stages " ", " " $2 " ") { print $1 "|" $3 }' \
  "$RATOON_REPO/scripts/packages/debian.txt"; }

# missing_packages STAGE...: packages that dpkg has not installed and whose probe finds no other installation.
missing_packages() {
  local installed package probe
  installed=" $(dpkg-query -W -f='${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p' | tr '\n' ' ')"
  while IFS='|' read -r package probe; do
    if [[ $installed == *" $package "* ]]; then continue; fi
    if [[ $probe != - ]] && eval "$probe" >/dev/null 2>&1; then continue; fi
    echo "$package"
  done < <(package_lines "$@")
}

ensure_debian_packages() {
  local missing began=$SECONDS
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]} == 0)); then
    say_step present
    return
  fi
  require_debian "${missing[*]}"
  require_root "${missing[*]}"
  require_free_space 3000 "Debian packages (${missing[*]})" /usr /var/cache
  say_step "installing ${missing[*]}"
  run_apt "${missing[*]}" update -o APT::Update::Error-Mode=any
  hold_daemons "${missing[@]}"
  run_apt "${missing[*]}" install --yes --no-install-recommends "${missing[@]}"
  release_daemons
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]} > 0)); then
    stop "apt-get ended well, yet ${missing[*]} is still missing" "apt-get install ${missing[*]}"
  fi
  say_step "installed in $((SECONDS - began)) s"
}

require_debian() {
  local release=${RATOON_OS_RELEASE:-/etc/os-release} id='' version=''
  if [[ -r $release ]]; then
    id=$(sed -n 's/^ID="\?\([^"]*\)"\?$/\1/p' "$release")
    version=$(sed -n 's/^VERSION_ID="\?\([^"]*\)"\?$/\1/p' "$release")
  fi
  if [[ $id != debian || $version != 12* ]] || ! command -v apt-get >/dev/null; then
    stop "these are missing and can be installed for you on Debian 12 only, not on ${id:-this system} ${version:-}: $1" \
      "install what they hold by hand, then $0 --without-packages"
  fi
}

as_root=()
require_root() {
  if [[ $(id -u) == 0 ]]; then return; fi
  if ! command -v sudo >/dev/null; then
    stop "these Debian packages are missing, and there is neither root nor sudo to install them: $1" \
      "have an administrator run 'apt-get install --no-install-recommends $1', then $0"
  fi
  if [[ -t 0 ]]; then as_root=(sudo); else as_root=(sudo -n); fi
  if ! "${as_root[@]}" true 2>/dev/null; then
    stop "these Debian packages are missing, and sudo did not let $(id -un) install them: $1" \
      "have an administrator run 'apt-get install --no-install-recommends $1', then $0"
  fi
}

daemon_policy=${RATOON_DAEMON_POLICY:-/usr/sbin/policy-rc.d}
made_daemon_policy=false

# hold_daemons PACKAGE...: containerd and prometheus would start as services of the system; here they are only programs.
# The policy checks that this setup still runs: the policy of a killed setup has no effect.
hold_daemons() {
  if [[ " $* " != *' containerd '* && " $* " != *' prometheus '* ]]; then return; fi
  # The policy of a killed setup is replaced, and the policy of the machine stays.
  if [[ -e $daemon_policy ]] && ! grep -qs 'kill -0 [0-9]* 2>/dev/null; then exit 101' "$daemon_policy"; then return; fi
  made_daemon_policy=true
  trap release_daemons EXIT
  printf '#!/bin/sh\nif kill -0 %d 2>/dev/null; then exit 101; fi\nexit 0\n' $$ | "${as_root[@]}" tee "$daemon_policy" >/dev/null
  "${as_root[@]}" chmod 755 "$daemon_policy"
}

release_daemons() {
  if $made_daemon_policy; then "${as_root[@]}" rm -f "$daemon_policy"; fi
  made_daemon_policy=false
}

# run_apt PACKAGES ARGUMENT...: waits for another apt-get or dpkg to finish, ten minutes at most. It runs in English, so
# that messages about a lock are recognised on a machine with another language. sudo removes the variables of a proxy.
run_apt() {
  local packages=$1 log=$RATOON_CACHE/logs/apt-$2.log tries=0 name proxies=()
  shift
  for name in {http,https,ftp,all,no}_proxy {HTTP,HTTPS,FTP,ALL,NO}_PROXY; do
    if [[ -n ${!name:-} ]]; then proxies+=("$name=${!name}"); fi
  done
  until run_logged "$log" "${as_root[@]}" env LC_ALL=C DEBIAN_FRONTEND=noninteractive "${proxies[@]}" apt-get "$@"; do
    if ! grep -qE 'Could not get lock|Unable to (acquire|lock)' "$log"; then
      explain_failure "$log" "Debian packages ($packages)"
    fi
    if ((++tries > 120)); then stop "another apt-get or dpkg has held its lock for ten minutes" "wait for it, then $0"; fi
    if ((tries % 6 == 1)); then say_step "waiting for another apt-get or dpkg to finish"; fi
    sleep 5
  done
}
