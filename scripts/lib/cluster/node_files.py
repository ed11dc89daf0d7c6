"""The configuration files of one node: containerd, its pods' network, kubelet."""
import json
import subprocess

from .programs import cni_folder

PAUSE_IMAGE = "ratoon.test/pause:1"


def write(cluster, plan, node, index, snapshotter):
    folder = cluster.node_folder(node)
    for name in ("run", "cni", "cni-state", "containers", "containerd", "kubelet", "kubelet-shared", "pods"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "containerd.toml").write_text(_containerd(folder, snapshotter))
    (folder / "cni/10-pods.conflist").write_text(json.dumps(_pods_network(plan, index), indent=2))
    (folder / "kubelet.json").write_text(json.dumps(_kubelet(cluster, plan, node, index), indent=2))


def snapshotter_of(folder):
    """overlayfs if the file system can be its upper layer; else whole copies."""
    for name in ("lower", "upper", "work", "merged"):
        (folder / "try" / name).mkdir(parents=True, exist_ok=True)
    tried = subprocess.run(
        ["unshare", "--mount", "mount", "-t", "overlay", "overlay", "-o",
         "lowerdir=lower,upperdir=upper,workdir=work", "merged"], cwd=folder / "try", capture_output=True, check=False)
    return "overlayfs" if tried.returncode == 0 else "native"


def _containerd(folder, snapshotter):
    """/run/containerd is the node's own folder, see node.py. restrict_oom_score_adj: a root without CAP_SYS_RESOURCE
    may not lower a score, and sandboxes would not start."""
    return f"""version = 2
root = "{folder}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.tracing",
  "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "{folder}/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{cni_folder()}"
    conf_dir = "{folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "{snapshotter}"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
"""


def _pods_network(plan, index):
    pods = plan.pods_of(index)
    ipam = {"type": "host-local", "dataDir": "/var/lib/cni/addresses",
            "ranges": [[{"subnet": pods, "gateway": pods.replace(".0/24", ".1")}]],
            "routes": [{"dst": "0.0.0.0/0"}]}
    return {"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "ptp", "ipMasq": False, "ipam": ipam}]}


def _kubelet(cluster, plan, node, index):
    pki, folder = cluster.pki, cluster.node_folder(node)
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "address": plan.node(index), "port": 10250, "readOnlyPort": 0, "healthzPort": 0,
        "tlsCertFile": f"{pki}/{node}-server.pem", "tlsPrivateKeyFile": f"{pki}/{node}-server.key",
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True},
                           "x509": {"clientCAFile": f"{pki}/ca.pem"}},
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        # Its containers' cgroups are below the node's, where node kill and down find them.
        "cgroupDriver": "cgroupfs", "cgroupRoot": f"/ratoon/{cluster.name}/nodes/{node}", "cgroupsPerQOS": True,
        "enforceNodeAllocatable": [], "failCgroupV1": False, "failSwapOn": False, "oomScoreAdj": 0,
        "localStorageCapacityIsolation": False,
        # A full disk of the machine is no reason to evict pods or remove images.
        "evictionHard": {name: "0%" for name in ("memory.available", "nodefs.available", "nodefs.inodesFree",
                                                 "imagefs.available", "imagefs.inodesFree")},
        "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
        "serializeImagePulls": False, "maxPods": 110, "containerLogMaxSize": "20Mi",
        # The time that pods get when a login manager announces a shutdown.
        "shutdownGracePeriod": "21s", "shutdownGracePeriodCriticalPods": "1s",
        "nodeStatusUpdateFrequency": "4s", "syncFrequency": "10s", "makeIPTablesUtilChains": False,
        "podLogsDir": f"{folder}/pods", "volumePluginDir": f"{folder}/kubelet/volume-plugins",
        # No DNS server listens there: programs in pods use addresses, not names.
        "clusterDNS": [plan.dns_service], "clusterDomain": "cluster.local",
        "registerNode": True,
    }
