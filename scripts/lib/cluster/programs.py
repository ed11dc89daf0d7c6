"""The programs of a cluster: their paths, running one to its end, and starting one in the background."""
import os
import pathlib
import re
import shutil
import subprocess

from .speech import Stop

FROM_SETUP = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet")
FROM_PACKAGES = ("containerd", "ctr", "runc", "iptables", "ip", "openssl", "nsenter", "unshare")
_SERVERS = pathlib.Path(__file__).resolve().parents[2] / "packages/servers"
_CNI_FOLDERS = ("/usr/lib/cni", "/opt/cni/bin")


def server_folders(cache):
    """Where scripts/setup builds the servers that this checkout pins; the cache may hold other versions as well."""
    lines = (_SERVERS / "servers.txt").read_text().splitlines()
    folders = []
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        name, module = [field.strip() for field in line.split("|")[:2]]
        required = re.search(rf"^(?:require)?[ \t]*{re.escape(module)} (\S+)", (_SERVERS / name / "go.mod").read_text(), re.M)
        folders.append(pathlib.Path(cache, f"servers-{name}-{required[1]}"))
    return folders


def built_folders(cache):
    return [str(folder / "bin") for folder in server_folders(cache) if (folder / "bin").is_dir()]


def extend_path(cache):
    """Programs of scripts/setup come first; the administrator's folders hold the packages' programs."""
    built = built_folders(cache)
    os.environ["PATH"] = ":".join([*built, os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"])


def missing():
    names = [name for name in FROM_SETUP + FROM_PACKAGES if shutil.which(name) is None]
    return names + ([] if cni_folder() else ["containernetworking-plugins"])


def cni_folder():
    return next((folder for folder in _CNI_FOLDERS if os.access(f"{folder}/ptp", os.X_OK)), None)


def run(*command, check=True, text_in=None):
    done = subprocess.run([str(word) for word in command], input=text_in, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Stop(f"'{' '.join(map(str, command[:6]))} ...' failed: {said[-1] if said else done.returncode}",
                   "scripts/cluster down, then up again")
    return done


def leave_running(command, group, log):
    """Starts a program that outlives this command: in its own session, with its output in a file. It enters its cgroup before
    it runs, so that all its children are in it too. The pid is that of the program."""
    enter = 'echo $$ >"$0"/cgroup.procs && exec "$@"'
    with open(log, "ab") as output:
        process = subprocess.Popen(["sh", "-c", enter, str(group), *map(str, command)], stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=output, start_new_session=True, cwd="/")
    process.returncode = 0  # it must outlive this command: no warning about an unfinished child
    return process.pid


def tail(log, lines=12):
    try:
        return "\n".join("  | " + line for line in pathlib.Path(log).read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return ""
