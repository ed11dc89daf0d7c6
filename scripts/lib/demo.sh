# shellcheck shell=bash
# What scripts/quickstart knows of a local run: how it is started, and where its members' pids stand.

start_run() { "$RATOON_REPO/build/no-torch/bin/ratoon" run "$1" --folder "$2"; }

# read_status FOLDER: the lowest step of all members, then each member's pid; nothing while there is no status yet.
read_status() {
  python3 - "$1/status.json" <<'PYTHON'
import json
import sys

try:
    with open(sys.argv[1]) as file:
        members = json.load(file)["members"]
    print(min(member["step"] for member in members), *(member["pid"] for member in members))
except (OSError, ValueError, KeyError):
    pass
PYTHON
}
