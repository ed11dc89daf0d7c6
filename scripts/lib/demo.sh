# shellcheck shell=bash
# What scripts/quickstart knows of a local run: how it is started, and where its members' pids stand.

start_run() { "$RATOON_REPO/build/no-torch/bin/ratoon" run "$1" --folder "$2"; }

# read_status FOLDER: the step of the last checkpoint, then a pid of each living member; nothing before the first one.
read_status() {
  python3 - "$1/status.json" <<'PYTHON'
import json
import sys

try:
    with open(sys.argv[1]) as file:
        document = json.load(file)
    step = document["job"]["status"]["lastCheckpoint"]["step"]
    print(step, *(member["pids"][0] for member in document["members"] if member["pids"]))
except (OSError, ValueError, KeyError):
    pass
PYTHON
}
