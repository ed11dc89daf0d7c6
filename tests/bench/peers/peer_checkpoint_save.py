"""What the same save costs elsewhere: torch.save, safetensors and torch.distributed.checkpoint, each as it ships and made
durable (the files and their folders synced), in the folder and with the state of bench_checkpoint_save.

    peer_checkpoint_save.py RESULT.json [REPEATS]       REPEATS times three rounds by turns; medians

RATOON_BENCH_FOLDER and RATOON_BENCH_MIB are as there. Each round begins with another save, and each save with no page that
waits to be written: none pays for the one before it. DCP's async_save has two rows: `blocked` is the call itself,
`blocked_and_slowdown` what a step loop of one thread loses until the save is done, the call included.
"""
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

ROUNDS = 3
TENSORS = 98
MEMORY_FOLDER = pathlib.Path("/dev/shm")


def make_state():
    import torch
    count = (int(os.environ.get("RATOON_BENCH_MIB", 1024)) << 20) // TENSORS // 4
    return {f"layer.{i}": torch.rand(count) for i in range(TENSORS)}


def sync(path):
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def sync_all(folder):
    """What is in it, and its name."""
    for path in folder.rglob("*"):
        sync(path)
    sync(folder)
    sync(folder.parent)


def save_torch(state, folder):
    import torch
    torch.save(state, folder / "state.pt")


def save_safetensors(state, folder):
    from safetensors.torch import save_file
    save_file(state, folder / "state.safetensors")


def save_dcp(state, folder):
    import torch.distributed.checkpoint as dcp
    dcp.save(state, checkpoint_id=folder / "dcp", no_dist=True)


SAVES = {"torch": save_torch, "safetensors": save_safetensors, "dcp": save_dcp}


def seconds_of(act):
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def step_loop(steps):
    """The processor alone, in one thread that holds no lock of the interpreter: copies within the cache, of as many bytes as in
    bench_checkpoint_save."""
    import torch
    here, there = torch.rand(1 << 14), torch.empty(1 << 14)
    for _ in range(steps):
        for _ in range(100):
            there.copy_(here)


class Folder:
    """A new one, gone afterwards."""

    def __init__(self, above):
        self._path = pathlib.Path(above) / "ratoon-bench-peer"

    def __enter__(self):
        shutil.rmtree(self._path, ignore_errors=True)
        self._path.mkdir(parents=True)
        return self._path

    def __exit__(self, *_):
        shutil.rmtree(self._path, ignore_errors=True)


def time_save(name, state, above, is_durable):
    with Folder(above) as folder:
        def act():
            SAVES[name](state, folder)
            if is_durable:
                sync_all(folder)
        os.sync()
        return seconds_of(act)


def time_async(state, above, steps):
    """(blocked, blocked and slowdown)"""
    import torch.distributed.checkpoint as dcp
    os.sync()
    quiet = seconds_of(lambda: step_loop(steps))
    with Folder(above) as folder:
        began = time.perf_counter()
        future = dcp.async_save(state, checkpoint_id=folder / "dcp", no_dist=True)
        blocked = time.perf_counter() - began
        step_loop(steps)
        both = time.perf_counter() - began
        future.result()
    return blocked, max(both - quiet, 0)


def steps_for(seconds):
    return max(1, round(seconds / (seconds_of(lambda: step_loop(200)) / 200)))


def main(result, repeats=1):
    import torch
    torch.set_num_threads(1)
    above = os.environ.get("RATOON_BENCH_FOLDER", tempfile.gettempdir())
    state = make_state()
    times = {}

    def note(name, seconds):
        times.setdefault(name, []).append(seconds)

    steps = steps_for(1.5 * time_save("dcp", state, above, True))
    time_async(state, above, 1)  # the first one starts what the others find
    cases = [(name, kind) for name in SAVES for kind in ("as_shipped", "durable", "new_file_in_memory")]
    if not MEMORY_FOLDER.is_dir():
        cases = [(name, kind) for name, kind in cases if kind != "new_file_in_memory"]
    for turn in range(ROUNDS * int(repeats)):
        first = turn % len(cases)
        for name, kind in cases[first:] + cases[:first]:
            where = MEMORY_FOLDER if kind == "new_file_in_memory" else above
            note(f"{name}/{kind}", time_save(name, state, where, kind == "durable"))
        blocked, with_slowdown = time_async(state, above, steps)
        note("dcp_async/blocked", blocked)
        note("dcp_async/blocked_and_slowdown", with_slowdown)
    rows = [{"name": name, "run_type": "iteration", "real_time": statistics.median(seconds), "cpu_time": 0, "time_unit": "s"}
            for name, seconds in times.items()]
    with open(result, "w") as out:
        json.dump({"context": {"torch": torch.__version__, "folder": str(above)}, "benchmarks": rows}, out, indent=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
