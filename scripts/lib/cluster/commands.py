"""What each command does."""
import concurrent.futures
import datetime
import os
import re
import shutil
import time

from . import cgroups, control_plane, images, network, node, node_files, pki, programs, shared
from .api import Api, wait_for
from .speech import Stop, say, say_timed

_NODE_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?")


def up(cluster, cache, chosen):
    lacking = programs.missing()
    if lacking:
        raise Stop(f"these programs are missing: {' '.join(lacking)}", "scripts/setup")
    if chosen.nodes > network.NODE_LIMIT:
        raise Stop(f"{chosen.nodes} nodes are more than {network.NODE_LIMIT}", "scripts/cluster --help", code=2)
    with cluster.locked():
        if cluster.is_up and not control_plane.missing(cluster.name):
            say(f"{cluster.name} is up already")
        elif cluster.values or cgroups.exists(cluster.name):
            raise Stop(f"cluster {cluster.name} is there, but not whole", f"scripts/cluster down --name {cluster.name}")
        else:
            _make(cluster, cache, chosen)
    print(f"export KUBECONFIG={cluster.kubeconfig}")


def _make(cluster, cache, chosen):
    pause = images.pause_image(cache)
    shared.prepare(cache, cluster.name)
    for name in ("logs", "nodes"):
        (cluster.folder / name).mkdir()
    cluster.values = {"name": cluster.name, "slot": network.take_slot(),
                      "nodes": {f"node-{index}": index for index in range(1, chosen.nodes + 1)}}
    cluster.save()
    plan = network.Plan(cluster.slot)
    snapshotter = cluster.values["snapshotter"] = node_files.snapshotter_of(cluster.folder)
    images.load(cluster, pause, {})
    network.make(cluster, plan)
    pki.make_all(cluster, plan)
    control_plane.start_api_server(cluster, plan)
    say_timed(f"{cluster.name}: etcd and the API server are starting at {plan.server}")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        starting = [pool.submit(node.start_containerd, cluster, plan, name, index, snapshotter)
                    for name, index in cluster.nodes.items()]
        api = Api(cluster, plan)
        wait_for("the API server", api.is_ready, 120, [cluster.log("kube-apiserver"), cluster.log("etcd")])
        say_timed("the API server answers")
        control_plane.start_controllers(cluster, plan, chosen.grace)
        for (name, index), job in zip(cluster.nodes.items(), starting):
            job.result()
            node.start_kubelet(cluster, plan, name, index)
        say_timed(f"{len(cluster.nodes)} kubelets are starting")
        control_plane.start_proxy(cluster, plan, next(iter(cluster.nodes)))
    wanted = set(cluster.nodes)
    wait_for("every node's Ready", lambda: wanted <= api.ready_nodes().keys(), 120, _node_logs(cluster, wanted))
    wait_for("kube-proxy", lambda: _service_answers(plan), 60, [cluster.log("kube-proxy")])
    cluster.values["is_up"] = True
    cluster.save()
    say_timed(f"{cluster.name} is up: {len(wanted)} nodes are ready")


def _node_logs(cluster, names):
    return [cluster.log(f"kubelet-{name}") for name in sorted(names)]


def _service_answers(plan):
    """The API server's own Service, through kube-proxy's rules, from this machine."""
    try:
        with network.connect(plan.first_service, 443, 1):
            return True
    except OSError:
        return False


def down(cluster, cache, _):
    if not cluster.exists:
        say(f"{cluster.name} is not there")
        return
    with cluster.locked():
        if not cgroups.kill(cluster.name):
            raise Stop(f"processes {cgroups.pids(cluster.name)} do not die", "look at /proc/PID/stack, then down again")
        if "slot" in cluster.values:
            network.remove(cluster.slot)
        if not shared.give_back(cache, cluster.name):
            raise Stop(f"cgroups of {cluster.name} cannot be removed", "scripts/cluster down again")
        _erase(cluster.folder)
    try:
        cluster.folder.parent.rmdir()
    except OSError:
        pass  # other clusters are there
    say_timed(f"{cluster.name} is gone")


def _erase(folder):
    """A mount below it is somebody's volume: that is taken off first, so that no file of it is erased."""
    with open("/proc/self/mountinfo", encoding="utf-8") as table:
        mounts = [line.split()[4] for line in table]
    for path in sorted((path for path in mounts if path.startswith(f"{folder}/")), reverse=True):
        programs.run("umount", "--lazy", path)
    deadline = time.monotonic() + 10
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)
        if time.monotonic() > deadline:
            raise Stop(f"{folder} cannot be removed", f"look what is in it, then rm -r {folder}")


def node_add(cluster, _, chosen):
    with cluster.require_up().locked():
        plan = network.Plan(cluster.slot)
        name = chosen.node or _free_name(cluster)
        if not _NODE_NAME.fullmatch(name):
            raise Stop(f"'{name}' cannot name a node: up to 20 of a-z, 0-9 and -", "scripts/cluster --help", code=2)
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
        wait_for(f"{name}'s Ready", lambda: api.ready_nodes().get(name, before) != before, 120, _node_logs(cluster, [name]))
        say_timed(f"{name} is ready")


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
    """Without the lock: a power cut waits for nobody."""
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
