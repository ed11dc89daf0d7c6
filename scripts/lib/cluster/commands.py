"""The commands for a cluster that is up; lifecycle.py has `up` and `down`."""
import datetime
import os
import re

from . import cgroups, control_plane, images, network, node, pki
from .api import Api, wait_for
from .speech import Stop, say, say_timed

_NODE_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?")


def node_add(cluster, _, chosen):
    with cluster.require_up().locked():
        plan = network.Plan(cluster.slot)
        name = chosen.node or _free_name(cluster)
        if not is_node_name(name):
            raise Stop(f"'{name}' cannot name a node: up to 20 of a-z, 0-9 and -, and none of {', '.join(pki.RESERVED)}",
                       "scripts/cluster --help", code=2)
        if cgroups.pids(cluster.name, "nodes", name):
            raise Stop(f"node {name} is alive", f"scripts/cluster node kill {name}, or take another name")
        index = cluster.nodes.get(name) or _free_index(cluster)
        node.erase(cluster, name)
        cluster.nodes[name] = index
        cluster.save()
        api = Api(cluster, plan)
        before = api.ready_nodes().get(name)  # a killed node's Ready stays true for a while
        node.start_containerd(cluster, plan, name, index, cluster.values["snapshotter"])
        node.start_kubelet(cluster, plan, name, index)
        wait_for(f"{name}'s Ready", lambda: api.ready_nodes().get(name, before) != before, 600, [cluster.log(f"kubelet-{name}")])
        say_timed(f"{name} is ready")


def is_node_name(name):
    return bool(_NODE_NAME.fullmatch(name)) and name not in pki.RESERVED


def _free_name(cluster):
    return next(name for name in (f"node-{number}" for number in range(1, 1000)) if name not in cluster.nodes)


def _free_index(cluster):
    used = set(cluster.nodes.values())
    free = [index for index in range(1, network.NODE_LIMIT + 1) if index not in used]
    if not free:
        raise Stop(f"{cluster.name} has {network.NODE_LIMIT} nodes already", "scripts/cluster node remove one first")
    return free[0]


def _known_node(cluster, name):
    if name not in cluster.nodes:
        raise Stop(f"there is no node '{name}' in {cluster.name}, but {', '.join(cluster.nodes)}",
                   "scripts/cluster node list")
    return cluster.nodes[name]


def node_kill(cluster, _, chosen):
    """Takes no lock: a power cut does not wait for other commands."""
    index = _known_node(cluster.require_up(), chosen.node)
    if not cgroups.pids(cluster.name, "nodes", chosen.node):
        raise Stop(f"node {chosen.node} is dead already", f"scripts/cluster node add {chosen.node}")
    count, killed_at = node.kill(cluster, network.Plan(cluster.slot), chosen.node, index)
    when = datetime.datetime.fromtimestamp(killed_at, datetime.timezone.utc).isoformat(timespec="milliseconds")
    say(f"{chosen.node} is dead: {count} processes stood still at {when} and were killed")
    print(int(killed_at * 1000))


def node_remove(cluster, _, chosen):
    with cluster.require_up().locked():
        plan = network.Plan(cluster.slot)
        index = _known_node(cluster, chosen.node)
        node.kill(cluster, plan, chosen.node, index)
        Api(cluster, plan).forget_node(chosen.node)
        node.erase(cluster, chosen.node)
        del cluster.nodes[chosen.node]
        cluster.save()
        say_timed(f"{chosen.node} is removed")


def node_list(cluster, _, __):
    cluster.require_up()
    for name, index in cluster.nodes.items():
        print(f"{name:20} {network.Plan(cluster.slot).node(index):14} {'alive' if node.is_alive(cluster, name) else 'dead'}")


def image_load(cluster, _, chosen):
    with cluster.require_up().locked():
        if chosen.node:
            _known_node(cluster, chosen.node)
        names = [name for name in ([chosen.node] if chosen.node else cluster.nodes) if node.is_alive(cluster, name)]
        if not names:
            raise Stop(f"{chosen.node or 'every node'} is dead", "scripts/cluster node add")
        sockets = {name: node.socket(cluster, name) for name in names}
        tags = images.load(cluster, chosen.file, sockets, keep=not chosen.node)
    say_timed(f"{' '.join(tags)} is in {', '.join(names)}")


def status(cluster, _, __):
    if not cluster.load().values:
        raise Stop(f"cluster {cluster.name} is not there", f"scripts/cluster up --name {cluster.name}")
    plan, alive = network.Plan(cluster.slot), control_plane.running(cluster.name)
    lines = [f"cluster      {cluster.name}, {'up' if cluster.is_up else 'half made'}", f"server       {plan.server}",
             f"addresses    {plan.all}; pods {plan.pods}, services {plan.services}", f"this machine {plan.host}, as pods see it",
             f"kubeconfig   {cluster.kubeconfig}", f"logs         {cluster.folder}/logs"]
    lines += [f"{program:24} {'alive' if program[:15] in alive else 'dead'}" for program in control_plane.PROGRAMS]
    lines += [f"{name:24} {'alive' if node.is_alive(cluster, name) else 'dead'}" for name in cluster.nodes]
    print("\n".join(lines))
    if control_plane.missing(cluster.name):
        raise Stop(f"cluster {cluster.name} is not whole", f"scripts/cluster down --name {cluster.name}")


def print_kubeconfig(cluster, _, __):
    if not os.path.exists(cluster.kubeconfig):
        raise Stop(f"cluster {cluster.name} is not there", f"scripts/cluster up --name {cluster.name}")
    print(cluster.kubeconfig)
