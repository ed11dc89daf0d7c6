"""Missing parts of a machine, found without the tests: the conditions of tests/expected_skips.txt."""
import functools
import glob
import os
import re
import shutil
import socket
import subprocess
import tempfile

_ORDINARY_FILE_SYSTEMS = ("ext4", "xfs", "btrfs")


def has_root():
    return os.geteuid() == 0


def has_go():
    """Go 1.25 or newer, as scripts/lib/servers.sh requires."""
    go = shutil.which("go")
    if go is None:
        return False
    said = subprocess.run([go, "env", "GOVERSION"], env={**os.environ, "GOTOOLCHAIN": "local"}, capture_output=True,
                          text=True).stdout
    found = re.match(r"go1\.(\d+)", said)
    return bool(found) and int(found[1]) >= 25


def has_libtorch():
    """LibTorch in the folder of scripts/lib/env.sh, or of scripts/setup."""
    root = os.environ.get("RATOON_LIBTORCH_ROOT")
    caches = [root] if root else glob.glob(os.path.expanduser("~/.cache/ratoon/libtorch-*"))
    return any(os.path.exists(f"{folder}/{part}lib/libtorch_cpu.so") for folder in caches for part in ("", "torch/"))


def has_gpu():
    return bool(glob.glob("/dev/nvidia[0-9]*"))


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as listening:
            listening.bind(("::1", 0))
        return True
    except OSError:
        return False


def has_mounts():
    """Whether a file system can be mounted in a namespace of its own."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0


def has_loop_devices():
    return has_mounts() and os.path.exists("/dev/loop-control") and "\text4\n" in _read("/proc/filesystems")


def has_debian_12():
    said = _read("/etc/os-release")
    return re.search(r'(?m)^ID="?debian"?$', said) is not None and re.search(r'(?m)^VERSION_ID="?12', said) is not None


def has_cgroups_1():
    return all(os.access(f"/sys/fs/cgroup/{controller}/cgroup.procs", os.W_OK) for controller in ("memory", "cpu"))


def has_cgroups_2():
    """The outermost cgroup can be written, and has a controller to delegate."""
    for folder in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        is_whole = os.access(f"{folder}/cgroup.subtree_control", os.W_OK) and not os.path.exists(f"{folder}/cgroup.type")
        if is_whole and _read(f"{folder}/cgroup.controllers").strip():
            return True
    return False


def has_ordinary_disk():
    return _file_system_of(tempfile.gettempdir()) in _ORDINARY_FILE_SYSTEMS


def has_sse4_2():
    return "sse4_2" in _read("/proc/cpuinfo")


def has_x86_64():
    return os.uname().machine == "x86_64"


def has_git_checkout():
    return os.path.exists(os.path.join(os.path.dirname(__file__), "..", "..", ".git"))


def has_huge_pages():
    return os.path.exists("/sys/kernel/mm/transparent_hugepage/enabled")


def find_mpirun(said):
    """The program on PATH that starts the processes of MPI and whose version says this, or None."""
    for name in ("mpirun", "mpirun.openmpi", "mpirun.mpich", "mpiexec.hydra"):
        program = shutil.which(name)
        if program and re.search(said, subprocess.run([program, "--version"], capture_output=True, text=True).stdout):
            return program
    return None


def has_open_mpi():
    return find_mpirun("Open MPI|OpenRTE|PRRTE") is not None


def has_mpich():
    return find_mpirun("HYDRA") is not None


def has_python_peers():
    """The environment of scripts/lib/peers.sh, in which PyTorch is."""
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ratoon")
    return bool(glob.glob(f"{cache}/peers-*/.ratoon-complete"))


FACTS = {"root": has_root, "Go": has_go, "LibTorch": has_libtorch, "GPU": has_gpu, "IPv6": has_ipv6, "mounts": has_mounts,
         "loop devices": has_loop_devices, "Debian 12": has_debian_12, "cgroups of version 1": has_cgroups_1,
         "cgroups of version 2": has_cgroups_2, "ordinary disk": has_ordinary_disk, "SSE4.2": has_sse4_2,
         "x86-64 processor": has_x86_64, "git checkout": has_git_checkout, "huge pages": has_huge_pages,
         "Open MPI": has_open_mpi, "MPICH": has_mpich, "Python peers": has_python_peers}


@functools.cache
def has(fact):
    return FACTS[fact]()


def _read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def _file_system_of(folder):
    folder = os.path.realpath(folder)
    rows = [line.split() for line in _read("/proc/mounts").splitlines()]
    holders = [row for row in rows if folder == row[1] or folder.startswith(row[1].rstrip("/") + "/")]
    return max(holders, key=lambda row: len(row[1]))[2] if holders else ""
