"""Cgroups as lists of processes: every process of a cluster is below /ratoon/<cluster>, so no process is ever found by name.
On cgroup v1 the freezer hierarchy is the list, on v2 the only one."""
import os
import pathlib
import signal
import time

ROOT = pathlib.Path("/sys/fs/cgroup")
TOP = "ratoon"
IS_V2 = (ROOT / "cgroup.controllers").exists()
_LIST = ROOT if IS_V2 else ROOT / "freezer"


def folder_of(*parts):
    return _LIST.joinpath(TOP, *parts)


def make(*parts):
    folder = folder_of(*parts)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def make_everywhere(*parts):
    """kubelet wants its root in every hierarchy."""
    for hierarchy in _hierarchies():
        hierarchy.joinpath(TOP, *parts).mkdir(parents=True, exist_ok=True)


def _hierarchies():
    if IS_V2:
        return [ROOT]
    return [entry for entry in ROOT.iterdir() if entry.is_dir() and not entry.is_symlink()]


def exists(*parts):
    return folder_of(*parts).is_dir()


def children(*parts):
    try:
        return sorted(entry.name for entry in folder_of(*parts).iterdir() if entry.is_dir())
    except OSError:
        return []


def pids(*parts):
    """The processes of the group and of all groups below it."""
    found = []
    for folder, _, _ in os.walk(folder_of(*parts)):
        try:
            found += map(int, pathlib.Path(folder, "cgroup.procs").read_text().split())
        except OSError:
            pass  # it was removed meanwhile
    return found


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def freeze(*parts, seconds=0.5):
    """No process of the group runs any longer when this returns, unless one stays in the kernel for longer."""
    knob, word, seen = ("cgroup.freeze", "1", "cgroup.events") if IS_V2 else ("freezer.state", "FROZEN", "freezer.state")
    group, deadline = folder_of(*parts), time.monotonic() + seconds
    try:
        (group / knob).write_text(word)
        while time.monotonic() < deadline:
            state = (group / seen).read_text()
            if "FROZEN" in state or "frozen 1" in state:
                return
            time.sleep(0.001)
    except OSError:
        pass  # it was removed meanwhile


def thaw(*parts):
    try:
        (folder_of(*parts) / ("cgroup.freeze" if IS_V2 else "freezer.state")).write_text("0" if IS_V2 else "THAWED")
    except OSError:
        pass


def kill_frozen(*parts):
    """Frozen processes start no others, so that one pass over the list is exact. They die as soon as they thaw."""
    victims = pids(*parts)
    for pid in victims:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    thaw(*parts)
    return len(victims)


def kill(*parts, seconds=20):
    """Waits until none is left. False if one does not die, which only the kernel can cause."""
    deadline = time.monotonic() + seconds
    while pids(*parts):
        freeze(*parts)
        kill_frozen(*parts)
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def remove(*parts, seconds=60):
    """Removes the group from every hierarchy: runc makes a container's group in all of them."""
    deadline = time.monotonic() + seconds
    for hierarchy in _hierarchies():
        top = hierarchy.joinpath(TOP, *parts)
        while top.is_dir():
            for folder, _, _ in os.walk(top, topdown=False):
                try:
                    os.rmdir(folder)
                except OSError:
                    pass  # a dying process is still in it
            if top.is_dir():
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.02)
        if parts:
            try:
                (hierarchy / TOP).rmdir()  # removed only with the last cluster
            except OSError:
                pass
    return True
