"""A cluster's network: a network namespace of its own, with one link to this machine and no other connection. So its
addresses, routes and rules are private and vanish with its last process. Pods are routed, not bridged: all their packets pass
the namespace's rules, and a packet that no rule accepts is dropped there."""
import dataclasses
import json
import os
import socket

from . import cgroups
from .programs import leave_running, run
from .speech import Stop

_SLOTS = range(130, 190)  # the second number of 10.x.0.0/16
NODE_LIMIT = 100


@dataclasses.dataclass(frozen=True)
class Plan:
    slot: int

    link = property(lambda self: f"ratoon{self.slot}")       # this machine's end; 15 characters at most
    peer = property(lambda self: f"ratoon{self.slot}up")     # the other one, until it is in the namespace
    all = property(lambda self: f"10.{self.slot}.0.0/16")
    host = property(lambda self: f"10.{self.slot}.0.1")      # this machine, as pods see it
    machine = property(lambda self: f"10.{self.slot}.0.2")   # the control plane
    services = property(lambda self: f"10.{self.slot}.16.0/20")
    first_service = property(lambda self: f"10.{self.slot}.16.1")
    dns_service = property(lambda self: f"10.{self.slot}.16.10")
    pods = property(lambda self: f"10.{self.slot}.128.0/17")
    server = property(lambda self: f"https://{self.machine}:6443")

    def node(self, index):
        return f"10.{self.slot}.0.{10 + index}"

    def pods_of(self, index):
        return f"10.{self.slot}.{128 + index}.0/24"


def take_slot():
    """Reserves a free number by making its link: the kernel lets only one command do that."""
    used = {route.get("dst", "").split("/")[0] for route in json.loads(run("ip", "-json", "-4", "route").stdout)}
    for slot in _SLOTS:
        plan = Plan(slot)
        taken = any(address.startswith(f"10.{slot}.") for address in used)
        if not taken and run("ip", "link", "add", plan.link, "type", "veth", "peer", "name", plan.peer,
                             check=False).returncode == 0:
            return slot
    raise Stop("no range of addresses from 10.130.0.0/16 to 10.189.0.0/16 is free", "scripts/cluster down --name ANOTHER")


def holder(name):
    """The process that keeps the namespace."""
    found = cgroups.pids(name, "network")
    return found[0] if found else None


def inside(name):
    """The prefix of a command that runs it in the cluster's namespace."""
    pid = holder(name)
    if pid is None:
        raise Stop(f"cluster {name} has lost its network namespace", f"scripts/cluster down --name {name}, then up")
    return ["nsenter", f"--net=/proc/{pid}/ns/net"]


def make(cluster, plan):
    group = cgroups.make(cluster.name, "network")
    pid = leave_running(["unshare", "--net", "sleep", "infinity"], group, cluster.log("network"))
    _wait_for_namespace(pid)
    run("ip", "link", "set", plan.peer, "netns", pid)
    run("ip", "-batch", "-", text_in=f"""
        addr add {plan.host}/24 dev {plan.link}
        link set {plan.link} up
    """)
    run(*inside(cluster.name), "sysctl", "-q", "-w", "net.ipv4.ip_forward=1", "net.ipv4.conf.all.rp_filter=0",
        "net.ipv4.conf.default.rp_filter=0")
    # Services are a device without a port: packets without a rule of kube-proxy are dropped there.
    run(*inside(cluster.name), "ip", "-batch", "-", text_in=f"""
        link set lo up
        link set {plan.peer} name uplink
        addr add {plan.machine}/24 dev uplink
        link set uplink up
        link add services type bridge
        link set services up
        route add {plan.services} dev services
        route add unreachable {plan.pods}
    """)
    run("ip", "route", "add", plan.all, "via", plan.machine, "dev", plan.link)


def _wait_for_namespace(pid):
    ours = os.readlink("/proc/self/ns/net")
    for _ in range(2000):
        try:
            if cgroups.name_of(pid) == "sleep" and os.readlink(f"/proc/{pid}/ns/net") != ours:
                return
        except OSError:
            break
        run("sleep", "0.002")
    raise Stop("a network namespace could not be made", "look whether 'unshare --net true' works here")


def add_node(cluster, plan, index):
    run(*inside(cluster.name), "ip", "addr", "replace", f"{plan.node(index)}/24", "dev", "uplink")
    run(*inside(cluster.name), "ip", "route", "del", "blackhole", plan.pods_of(index), check=False)


def cut_node(cluster, plan, index):
    """Removes the node's address and its pods' links, so that packets to them are silently dropped."""
    nodes = plan.pods_of(index)
    batch = [f"route replace blackhole {nodes}", f"addr del {plan.node(index)}/24 dev uplink"]
    routes = run(*inside(cluster.name), "ip", "-json", "route", "show", "root", nodes, check=False).stdout
    batch += [f"link del {route['dev']}" for route in json.loads(routes or "[]")
              if route.get("dev", "").startswith("veth")]
    run(*inside(cluster.name), "ip", "-force", "-batch", "-", text_in="\n".join(batch) + "\n", check=False)


def remove(slot):
    run("ip", "link", "del", Plan(slot).link, check=False)


def connect(address, port, seconds):
    return socket.create_connection((address, port), timeout=seconds)
