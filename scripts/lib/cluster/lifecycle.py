"""`up` and `down`: from nothing to ready nodes, and from any state to nothing."""
import concurrent.futures
import shutil
import time

from . import cgroups, control_plane, images, network, node, node_files, pki, programs, shared
from .api import Api, wait_for
from .speech import Stop, say, say_timed


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
    control_plane.start_etcd(cluster)
    control_plane.start_api_server(cluster, plan)
    say_timed(f"{cluster.name}: etcd and the API server are starting at {plan.server}")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        starting = [pool.submit(node.start_containerd, cluster, plan, name, index, snapshotter)
                    for name, index in cluster.nodes.items()]
        api = Api(cluster, plan)
        wait_for("the API server", api.is_ready, 600, [cluster.log("kube-apiserver"), cluster.log("etcd")])
        say_timed("the API server answers")
        control_plane.start_controllers(cluster, plan, chosen.grace)
        for (name, index), job in zip(cluster.nodes.items(), starting):
            job.result()
            node.start_kubelet(cluster, plan, name, index)
        say_timed(f"{len(cluster.nodes)} kubelets are starting")
        control_plane.start_proxy(cluster, plan, next(iter(cluster.nodes)))
    wanted = set(cluster.nodes)
    wait_for("every node's Ready", lambda: wanted <= api.ready_nodes().keys(), 600, _node_logs(cluster, wanted))
    wait_for("kube-proxy", lambda: _service_answers(plan), 300, [cluster.log("kube-proxy")])
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
    """A mount below it is a volume of a pod or a user: it is unmounted first, so that none of its files is erased."""
    with open("/proc/self/mountinfo", encoding="utf-8") as table:
        mounts = [line.split()[4] for line in table]
    for path in sorted((path for path in mounts if path.startswith(f"{folder}/")), reverse=True):
        programs.run("umount", "--lazy", path)
    deadline = time.monotonic() + 120
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)
        if time.monotonic() > deadline:
            raise Stop(f"{folder} cannot be removed", f"look what is in it, then rm -r {folder}")
