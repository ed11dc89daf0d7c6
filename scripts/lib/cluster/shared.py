"""Resources that clusters share: four folders whose paths are compiled into containerd and kubelet, and kernel settings that
kubelet writes. Every node mounts its own folders over those of the machine, in its own mount namespace. The last cluster
reverts the changes of the first one."""
import json
import os
import pathlib

from . import cgroups
from .state import machine_locked

FOLDERS = {"/run/containerd": "run", "/var/lib/cni": "cni-state", "/var/log/containers": "containers",
           "/var/lib/kubelet": "kubelet-shared"}
_SETTINGS = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
             "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes")
_SYSCTLS = pathlib.Path("/proc/sys")


def _file(cache):
    return pathlib.Path(cache, "clusters", ".machine.json")


def prepare(cache, name):
    with machine_locked(cache):
        cgroups.make(name)
        if not _file(cache).exists():
            before = {"made": [], "settings": {key: (_SYSCTLS / key).read_text().strip() for key in _SETTINGS}}
            before["made"] = [path for path in FOLDERS if not os.path.isdir(path)]
            _file(cache).write_text(json.dumps(before))
        for path in FOLDERS:
            os.makedirs(path, exist_ok=True)


def give_back(cache, name):
    """Removing a folder would also remove another cluster's mount over it: only the last cluster may."""
    with machine_locked(cache):
        done = cgroups.remove(name)
        if cgroups.children() or not _file(cache).exists():
            return done
        before = json.loads(_file(cache).read_text())
        for key, value in before["settings"].items():
            if (_SYSCTLS / key).read_text().strip() != value:
                (_SYSCTLS / key).write_text(value)
        for path in before["made"]:
            try:
                os.rmdir(path)
            except OSError:
                pass  # another program uses it now
        _file(cache).unlink()
        return done
