"""A program that knows nothing of Ratoon and saves when it gets SIGTERM, as many trainers do: it prints what it finds in its
environment, counts, and at SIGTERM prints the notice and leaves. Words of the command:

  FOLDER STEPS [CODE]   rank 0 keeps the count in FOLDER/count; after STEPS the program ends with CODE, or 0
"""

import json
import os
import pathlib
import signal
import sys
import time

FOLDER, STEPS = pathlib.Path(sys.argv[1]), int(sys.argv[2])
CODE = int(sys.argv[3]) if len(sys.argv) > 3 else 0
RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
COUNT = FOLDER / "count"
SECRETS = ("RATOON_COORDINATOR_URL", "RATOON_COORDINATOR_CA", "RATOON_COORDINATOR_NAME", "RATOON_TOKEN_FILE",
           "RATOON_LIFELINE_FD")


def say(sentence):
    print(sentence, flush=True)


def leave(*_):
    notice = json.loads(pathlib.Path(os.environ["RATOON_NOTICE_FILE"]).read_text())
    left = notice["deadline_unix_seconds"] - time.time()
    say(f"rank {RANK} told to leave in {left:.1f} s: {notice['reason']}")
    sys.exit(0)


signal.signal(signal.SIGTERM, leave)
step = int(COUNT.read_text()) if COUNT.exists() else 0
say(f"rank {RANK} of {WORLD} at {os.environ['MASTER_ADDR']} begins at {step} with {sys.argv[4:]}, "
    f"told of a coordinator: {[name for name in SECRETS if name in os.environ]}")
while step < STEPS:
    gate = os.environ.get("TEST_STEP_GATE")
    while gate and step >= int(pathlib.Path(gate).read_text()):
        time.sleep(0.01)
    step += 1
    if RANK == 0:
        (FOLDER / "new").write_text(str(step))
        (FOLDER / "new").rename(COUNT)
    time.sleep(0.01)
say(f"rank {RANK} done")
sys.exit(CODE)
