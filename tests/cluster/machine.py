"""What a cluster could leave behind on this machine, told apart from what other clusters have there meanwhile."""
import os
import pathlib
import re
import subprocess

# What runs and tests of limits make beside a cluster: cgroups, and a mount of a test of scripts/setup.
_OF_OTHER_TESTS = re.compile(r"/ratoon-(?:test|run|small-disk)-")
# What systemd makes by itself at any time: for a timer, for a user who logs in. A kubelet would name its slices after its pods.
_OF_SYSTEMD = re.compile(r"cgroup (?!.*(?:ratoon|kubepods)).*\.(?:slice|scope|service)\b|mount /run/(?:user|credentials)/")
_FREEZER = pathlib.Path("/sys/fs/cgroup/freezer")


def cgroup_root():
    return _FREEZER if _FREEZER.is_dir() else pathlib.Path("/sys/fs/cgroup")


def processes_in(group):
    """{pid: name} of a cgroup and all below it, from the root of cgroups."""
    found = {}
    for folder, _, _ in os.walk(cgroup_root() / group):
        try:
            pids = pathlib.Path(folder, "cgroup.procs").read_text().split()
        except OSError:
            continue
        for pid in pids:
            found[int(pid)] = _read(f"/proc/{pid}/comm").strip()
    return found


def is_running(pid):
    """A process that has ended and is not waited for yet does not run."""
    state = re.search(r"^State:\s+(\w)", _read(f"/proc/{pid}/status"), re.M)
    return state is not None and state[1] not in "ZX"


def traces():
    """Everything, as a set of lines."""
    def lines(*command):
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    found = {f"interface {name}" for name in os.listdir("/sys/class/net")}
    found |= {f"route {line.strip()}" for line in lines("ip", "route", "show", "table", "all")}
    found |= {f"rule {line}" for line in lines("iptables-save") if line[:1] in "-:"}
    found |= {f"mount {line.split()[4]}" for line in _read("/proc/self/mountinfo").splitlines()}
    found |= {f"cgroup {folder}" for folder, _, _ in os.walk("/sys/fs/cgroup")}
    found |= {f"setting {key} {_read('/proc/sys/' + key).strip()}" for key in ("vm/overcommit_memory", "kernel/panic")}
    shared = ("/run/containerd", "/var/lib/cni", "/var/lib/kubelet", "/var/log/containers", "/run/netns")
    found |= {f"folder {path}" for path in shared
              if os.path.exists(path)}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        command = _read(f"/proc/{pid}/cmdline").replace("\0", " ")
        if is_running(pid) and ("ratoon" in _read(f"/proc/{pid}/cgroup") or "/ratoon/clusters/" in command):
            found.add(f"process {pid} {command} {_read(f'/proc/{pid}/cgroup')}")
    return found


def left_by(name, slot, before):
    """What is there now, was not there before, and is not another cluster's."""
    def is_of_another(line):
        others = [word for word in re.findall(r"/ratoon/(?:clusters/)?([a-z0-9-]+)", line) if word != name]
        slots = [number for number in re.findall(r"\bratoon(\d+)\b|\b10\.(1[3-8]\d)\.", line) for number in number if number]
        return (bool(others and name not in line) or bool(slots and str(slot) not in slots)
                or bool(_OF_OTHER_TESTS.search(line)) or bool(_OF_SYSTEMD.match(line)))

    return sorted(line for line in traces() - before if not is_of_another(line))


def _read(path):
    try:
        return pathlib.Path(path).read_text(errors="replace")
    except OSError:
        return ""
