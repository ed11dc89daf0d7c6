"""One node: a containerd and a kubelet in a cgroup and a mount namespace of their own. The namespace's mounts go with
its last process: neither a killed node nor `down` leaves any."""
import shutil
import time

from . import cgroups, images, network, node_files, pki, shared
from .api import wait_for
from .programs import leave_running, run
from .speech import Stop

_MOUNT_AND_RUN = "".join(f'mount --bind "$1/{own}" {path} && ' for path, own in shared.FOLDERS.items()) + \
    'exec containerd --config "$1/containerd.toml"'


def socket(cluster, node):
    return cluster.node_folder(node) / "run/containerd.sock"


def is_alive(cluster, node):
    names = {cgroups.name_of(pid) for pid in cgroups.pids(cluster.name, "nodes", node, "daemons")}
    return {"containerd", "kubelet"} <= names


def start_containerd(cluster, plan, node, index, snapshotter):
    """The node's files, its containerd, and the images that were loaded before."""
    node_files.write(cluster, plan, node, index, snapshotter)
    network.add_node(cluster, plan, index)
    cgroups.make_everywhere(cluster.name, "nodes", node)
    group = cgroups.make(cluster.name, "nodes", node, "daemons")
    leave_running([*network.inside(cluster.name), "unshare", "--mount", "--propagation", "slave", "sh", "-c",
                   _MOUNT_AND_RUN, "sh", cluster.node_folder(node)], group, cluster.log(f"containerd-{node}"))
    pki.make_node_certificates(cluster, plan, node, plan.node(index))
    log = cluster.log(f"containerd-{node}")
    wait_for(f"containerd of {node}", lambda: _answers(cluster, node), 300, [log])
    images.load_kept(cluster, node, socket(cluster, node))


def _answers(cluster, node):
    return socket(cluster, node).exists() and \
        run("ctr", "--address", socket(cluster, node), "version", check=False).returncode == 0


def login_manager_socket(cluster, node):
    """The folder in which its kubelet looks for a login manager, once, at its start. It is empty unless a test puts one there."""
    return cluster.folder / f"{node}.login"


def start_kubelet(cluster, plan, node, index):
    pids = [pid for pid in cgroups.pids(cluster.name, "nodes", node, "daemons") if cgroups.name_of(pid) == "containerd"]
    if not pids:
        raise Stop(f"containerd of {node} has ended", f"read {cluster.log(f'containerd-{node}')}")
    folder = cluster.node_folder(node)
    leave_running(["nsenter", f"--net=/proc/{pids[0]}/ns/net", f"--mount=/proc/{pids[0]}/ns/mnt", "env",
                   f"DBUS_SYSTEM_BUS_ADDRESS=unix:path={login_manager_socket(cluster, node)}", shutil.which("kubelet"),
                   f"--config={folder}/kubelet.json", f"--kubeconfig={cluster.pki}/{node}.kubeconfig",
                   f"--hostname-override={node}", f"--node-ip={plan.node(index)}", f"--root-dir={folder}/kubelet",
                   f"--cert-dir={folder}/kubelet/pki"],
                  cgroups.folder_of(cluster.name, "nodes", node, "daemons"), cluster.log(f"kubelet-{node}"))


def kill(cluster, plan, node, index):
    """A power cut: all processes are frozen, the network is cut, so that no dying process closes its connections, and all
    processes are killed. Returns the number of processes and the time at which the last of them was frozen."""
    group = (cluster.name, "nodes", node)
    cgroups.freeze(*group)
    killed_at = time.time()
    network.cut_node(cluster, plan, index)
    count = cgroups.kill_frozen(*group)
    cgroups.kill(*group)
    return count, killed_at


def erase(cluster, node):
    cgroups.remove(cluster.name, "nodes", node)
    shutil.rmtree(cluster.node_folder(node), ignore_errors=True)
    for file in pki.node_files(cluster, node):
        file.unlink(missing_ok=True)
