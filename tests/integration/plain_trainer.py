"""A trainer that knows nothing of Ratoon: its ranks meet at MASTER_ADDR as PyTorch's do, add a number up in each step, and
rank 0 keeps what was reached. Takes a folder and a number of steps."""

import json
import os
import pathlib
import socket
import sys
import time

FOLDER, STEPS = pathlib.Path(sys.argv[1]), int(sys.argv[2])
RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
ADDRESS = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
KEPT = FOLDER / "kept.json"


def meet():
    """Rank 0: a stream to each other rank. Another rank: one to rank 0."""
    if RANK == 0:
        server = socket.create_server(ADDRESS)
        return [server.accept()[0].makefile("rw") for _ in range(WORLD - 1)]
    while True:
        try:
            return [socket.create_connection(ADDRESS).makefile("rw")]
        except ConnectionRefusedError:
            time.sleep(0.01)


def line_of(stream):
    line = stream.readline()
    if not line:
        raise ConnectionError(f"rank {RANK} lost a peer")
    return json.loads(line)


def say(stream, value):
    stream.write(json.dumps(value) + "\n")
    stream.flush()


def all_sum(streams, value):
    if RANK == 0:
        total = value + sum(line_of(stream) for stream in streams)
        for stream in streams:
            say(stream, total)
        return total
    say(streams[0], value)
    return line_of(streams[0])


def wait_at_gate(step):
    """As gate.h has it: rank 0 waits, and the others for it."""
    gate = os.environ.get("TEST_STEP_GATE")
    while RANK == 0 and gate and step >= int(pathlib.Path(gate).read_text()):
        time.sleep(0.01)


def main():
    agent = [name for name in os.environ if name in ("RATOON_COORDINATOR_URL", "RATOON_TOKEN_FILE")]
    print(f"rank {RANK} of {WORLD}, told of an agent: {agent}", flush=True)
    streams = meet()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {"step": 0, "total": 0}
    step, total = kept["step"], kept["total"]
    print(f"begins at {step}", flush=True)
    while step < STEPS:
        wait_at_gate(step)
        total += all_sum(streams, (RANK + 1) * step)
        step += 1
        if RANK == 0:
            (FOLDER / "new.json").write_text(json.dumps({"step": step, "total": total}))
            (FOLDER / "new.json").rename(KEPT)
        time.sleep(0.01)
    print(f"total {total}", flush=True)


main()
