"""etcd, the API server, the controllers, the scheduler and one kube-proxy: all nodes share one network namespace, and
so one set of rules serves them all and outlives any node."""
import json
import os
import shutil

from . import cgroups, network
from .programs import leave_running

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy")


def _start(cluster, program, *options):
    group = cgroups.make(cluster.name, "control-plane")
    leave_running([*network.inside(cluster.name), shutil.which(program), *options], group, cluster.log(program))


def start_etcd(cluster):
    _start(cluster, "etcd", f"--data-dir={cluster.folder}/etcd", "--unsafe-no-fsync",
           "--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
           "--listen-peer-urls=http://127.0.0.1:2380", "--log-level=warn")


def start_api_server(cluster, plan):
    pki = cluster.pki
    _start(cluster, "kube-apiserver", "--etcd-servers=http://127.0.0.1:2379", "--bind-address=0.0.0.0",
           f"--advertise-address={plan.machine}", "--secure-port=6443", f"--cert-dir={cluster.folder}/apiserver",
           f"--tls-cert-file={pki}/apiserver.pem", f"--tls-private-key-file={pki}/apiserver.key",
           f"--client-ca-file={pki}/ca.pem", "--authorization-mode=Node,RBAC", "--allow-privileged=true",
           "--enable-admission-plugins=NodeRestriction", f"--service-cluster-ip-range={plan.services}",
           f"--service-account-key-file={pki}/service-accounts.key",
           f"--service-account-signing-key-file={pki}/service-accounts.key",
           "--service-account-issuer=https://kubernetes.default.svc",
           f"--kubelet-certificate-authority={pki}/ca.pem",
           f"--kubelet-client-certificate={pki}/apiserver-client.pem",
           f"--kubelet-client-key={pki}/apiserver-client.key", "--kubelet-preferred-address-types=InternalIP")


def start_controllers(cluster, plan, grace_seconds):
    pki = cluster.pki
    grace = [f"--node-monitor-grace-period={grace_seconds}s"] if grace_seconds else []
    _start(cluster, "kube-controller-manager", f"--kubeconfig={pki}/controller-manager.kubeconfig",
           f"--root-ca-file={pki}/ca.pem", f"--service-account-private-key-file={pki}/service-accounts.key",
           "--use-service-account-credentials", "--leader-elect=false", f"--cluster-cidr={plan.pods}",
           f"--cert-dir={cluster.folder}/controller-manager", "--bind-address=127.0.0.1", *grace)
    _start(cluster, "kube-scheduler", f"--kubeconfig={pki}/scheduler.kubeconfig", "--leader-elect=false",
           f"--cert-dir={cluster.folder}/scheduler", "--bind-address=127.0.0.1")


def start_proxy(cluster, plan, node):
    """A node's name gives it the machine's address at its start; it needs neither the name nor the node later."""
    path = cluster.folder / "kube-proxy.json"
    path.write_text(json.dumps({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "iptables",
        "hostnameOverride": node, "clusterCIDR": plan.pods, "bindAddress": "0.0.0.0",
        "healthzBindAddress": "127.0.0.1:10256", "metricsBindAddress": "127.0.0.1:10249", "oomScoreAdj": 0,
        "clientConnection": {"kubeconfig": str(cluster.pki / "proxy.kubeconfig")},
        # The limits of tracked connections are a setting of the machine: zero leaves them unchanged.
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "iptables": {"minSyncPeriod": "0.1s", "localhostNodePorts": False},
    }))
    os.chmod(path, 0o600)
    _start(cluster, "kube-proxy", f"--config={path}")


def running(name):
    return {cgroups.name_of(pid) for pid in cgroups.pids(name, "control-plane")}


def missing(name):
    """The kernel keeps fifteen characters of a program's name."""
    alive = running(name)
    return [program for program in PROGRAMS if program[:15] not in alive]
