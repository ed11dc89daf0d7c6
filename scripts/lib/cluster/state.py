"""A cluster's folder and its state file: its name, its number on this machine, its nodes. Running processes are not in the
file: cgroups list them."""
import contextlib
import fcntl
import json
import os
import pathlib
import re

from . import cgroups
from .speech import Stop, say

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?")
_LONGEST_PATH = 108 - 1  # longest path of a Unix socket, with its closing zero


class Cluster:
    def __init__(self, cache, name):
        if not _NAME.fullmatch(name):
            raise Stop(f"'{name}' cannot name a cluster: up to 30 of a-z, 0-9 and -", "scripts/cluster --help", code=2)
        self.name, self.folder = name, pathlib.Path(cache, "clusters", name)
        longest = len(str(self.node_folder("n" * 20) / "kubelet/pod-resources/kubelet.sock"))
        if longest > _LONGEST_PATH:
            raise Stop(f"{self.folder} is too long a path for the sockets in it by {longest - _LONGEST_PATH} characters",
                       "set XDG_CACHE_HOME to a shorter folder")
        self.values = {}

    slot = property(lambda self: self.values["slot"])
    nodes = property(lambda self: self.values["nodes"])
    kubeconfig = property(lambda self: self.folder / "kubeconfig")
    pki = property(lambda self: self.folder / "pki")
    exists = property(lambda self: self.folder.is_dir() or cgroups.exists(self.name))
    is_up = property(lambda self: self.values.get("is_up", False))

    def node_folder(self, node):
        return self.folder / "nodes" / node

    def log(self, program):
        return self.folder / "logs" / f"{program}.log"

    def load(self):
        with contextlib.suppress(OSError, ValueError):
            self.values = json.loads((self.folder / "state.json").read_text())
        return self

    def require_up(self):
        self.load()
        if not self.is_up:
            raise Stop(f"cluster {self.name} is not up", f"scripts/cluster up --name {self.name}")
        return self

    def save(self):
        partial = self.folder / "state.json.partial"
        partial.write_text(json.dumps(self.values, indent=2) + "\n")
        os.replace(partial, self.folder / "state.json")

    @contextlib.contextmanager
    def locked(self):
        """One command at a time changes a cluster. The folder itself is the lock, so that none is left behind."""
        while True:
            self.folder.mkdir(parents=True, exist_ok=True)
            try:
                handle = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
            except FileNotFoundError:
                continue
            try:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    say(f"another command works on cluster {self.name}; waiting for it")
                    fcntl.flock(handle, fcntl.LOCK_EX)
                with contextlib.suppress(FileNotFoundError):
                    if os.stat(self.folder).st_ino == os.fstat(handle).st_ino:
                        yield self.load()
                        return
            finally:
                os.close(handle)


@contextlib.contextmanager
def machine_locked(cache):
    """One command at a time changes resources that all clusters of this machine share."""
    folder = pathlib.Path(cache, "clusters")
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield folder
    finally:
        os.close(handle)
