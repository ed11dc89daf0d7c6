"""bench_cluster.py RESULT: the operator beside a real kube-apiserver, etcd and kube-scheduler, with kwok for the nodes;
jobs of roles without the agent. Writes google-benchmark's JSON, as other benchmarks do. RATOON_BENCH_JOBS,
RATOON_BENCH_MEMBERS and RATOON_BENCH_LOST set another size, RATOON_BENCH_FLAGS flags of the operator.

All of it shares this machine, so processor seconds tell what is the operator's; times hold the servers' too."""
import base64
import http.client
import json
import os
import pathlib
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))
from api_server import ApiServer, missing_programs  # noqa: E402
from ports import take_port  # noqa: E402

JOBS = int(os.environ.get("RATOON_BENCH_JOBS", "1000"))
MEMBERS = int(os.environ.get("RATOON_BENCH_MEMBERS", "4"))
LOST = int(os.environ.get("RATOON_BENCH_LOST", "1000"))
NODES = 100
QUIET_SECONDS = 15
PATIENCE = 600
JOBS_PATH = "/apis/ratoon.dev/v1alpha1/namespaces/default/trainingjobs"
PODS_PATH = "/api/v1/namespaces/default/pods"
OPERATOR = pathlib.Path(os.environ.get("RATOON_BUILD_DIR", ROOT / "build/release")) / "bin/ratoon-operator"

# What becomes of pods: they run once they are placed, until somebody deletes them. kwok's own stages would end those
# of a batch/v1 Job at once.
RUNNING = """
phase: Running
hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
podIP: {{ PodIPWith .spec.nodeName false .metadata.uid .metadata.name .metadata.namespace | Quote }}
startTime: {{ Now | Quote }}
conditions:
{{ range $kind := list "Initialized" "Ready" "ContainersReady" }}
- {type: {{ $kind }}, status: "True", lastTransitionTime: {{ Now | Quote }}}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- {name: {{ .name | Quote }}, image: {{ .image | Quote }}, ready: true, restartCount: 0,
   state: {running: {startedAt: {{ Now | Quote }}}}}
{{ end }}
"""


def stage(name, expressions, then):
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": name},
            "spec": {"resourceRef": {"apiGroup": "v1", "kind": "Pod"}, "selector": {"matchExpressions": expressions},
                     "next": then}}


STAGES = (
    stage("runs", [{"key": ".metadata.deletionTimestamp", "operator": "DoesNotExist"},
                   {"key": ".status.podIP", "operator": "DoesNotExist"}], {"statusTemplate": RUNNING}),
    stage("ends", [{"key": ".metadata.deletionTimestamp", "operator": "Exists"}],
          {"finalizers": {"empty": True}, "delete": True}))


class Caller:
    """One connection that stays open."""

    def __init__(self, server):
        context = ssl.create_default_context(cafile=server.folder / "ca.pem")
        context.load_cert_chain(server.folder / "client.pem", server.folder / "client.key")
        address = urllib.parse.urlparse(server.url)
        self.connection = http.client.HTTPSConnection(address.hostname, address.port, context=context, timeout=PATIENCE)

    def call(self, method, path, body=None, kind="application/json"):
        self.connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": kind})
        reply = self.connection.getresponse()
        text = reply.read()
        if reply.status >= 300 and reply.status != 409:
            raise RuntimeError(f"{method} {path}: {reply.status} {text[:300]}")
        return json.loads(text)

    def events(self, path):
        """A watch from now on."""
        self.connection.request("GET", f"{path}?watch=true")
        reply = self.connection.getresponse()
        while line := reply.readline():
            yield json.loads(line)


class Bed:
    """The servers, the nodes and a controller of the jobs at `jobs_path`, which `start_controller` starts."""
    jobs_path = JOBS_PATH

    def __init__(self):
        self.server = ApiServer()
        self.children = []

    def __enter__(self):
        self.server.start()
        self.caller = Caller(self.server)
        self.kubeconfig = self.server.folder / "kubeconfig"
        self.kubeconfig.write_text(json.dumps(self._config()))
        kubeconfig = f"--kubeconfig={self.kubeconfig}"
        subprocess.run(["kubectl", kubeconfig, "create", "--filename", ROOT / "crds/trainingjob.yaml"], check=True,
                       capture_output=True)
        subprocess.run(["kubectl", kubeconfig, "wait", "--for=condition=Established", "crd/trainingjobs.ratoon.dev"],
                       check=True, capture_output=True)
        self.caller.call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
        self._start_nodes(kubeconfig)
        self.controller = self.start_controller(kubeconfig)
        return self

    def start_controller(self, kubeconfig):
        self.metrics_port, self.probe_port = take_port(), take_port()
        more = os.environ.get("RATOON_BENCH_FLAGS", "").split()
        controller = self.run("operator", OPERATOR, kubeconfig,
                              "--advertise-url=http://127.0.0.1:1", f"--coordinator-port={take_port()}",
                              f"--metrics-port={self.metrics_port}", f"--probe-port={self.probe_port}", *more)
        wait_for("the operator's readiness", self._is_ready)
        return controller

    def __exit__(self, *_):
        for child in reversed(self.children):
            child.terminate()
        for child in self.children:
            child.wait()
        self.server.close()

    def _config(self):
        def data(name):
            return base64.b64encode((self.server.folder / name).read_bytes()).decode()

        return {"apiVersion": "v1", "kind": "Config", "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {"server": self.server.url,
                                                       "certificate-authority-data": data("ca.pem")}}],
                "users": [{"name": "u", "user": {"client-certificate-data": data("client.pem"),
                                                 "client-key-data": data("client.key")}}]}

    def _start_nodes(self, kubeconfig):
        scheduler = self.server.folder / "scheduler.json"
        scheduler.write_text(json.dumps({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "clientConnection": {"kubeconfig": str(self.kubeconfig), "qps": 5000, "burst": 5000}}))
        self.run("scheduler", "kube-scheduler", f"--config={scheduler}", f"--secure-port={take_port()}",
                  f"--cert-dir={self.server.folder}/scheduler")
        room = {"cpu": "1000", "memory": "1000Gi", "pods": "1000"}
        for number in range(NODES):
            self.caller.call("POST", "/api/v1/nodes", {
                "metadata": {"name": f"node-{number}",
                             "labels": {"node": str(number), "kubernetes.io/hostname": f"node-{number}"}},
                "status": {"capacity": room, "allocatable": room}})
        stages = self.server.folder / "stages.yaml"
        stages.write_text("\n---\n".join(map(json.dumps, STAGES)))
        self.run("kwok", "kwok", kubeconfig, "--manage-all-nodes", f"--server-address=127.0.0.1:{take_port()}",
                 f"--config={stages}", "--cidr=10.244.0.0/16")
        wait_for("the nodes' readiness", lambda: all(
            any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))
            for node in self.caller.call("GET", "/api/v1/nodes")["items"]))
        # Made with a taint that the controller of nodes takes off, which is not here.
        for number in range(NODES):
            self.set_taints(f"node-{number}", None)

    def set_taints(self, node, taints):
        self.caller.call("PATCH", f"/api/v1/nodes/{node}", {"spec": {"taints": taints}}, "application/merge-patch+json")

    def run(self, name, *command):
        with open(self.server.folder / f"{name}.log", "wb") as log:
            self.children.append(subprocess.Popen([str(word) for word in command], stdout=log, stderr=log,
                                                  stdin=subprocess.DEVNULL))
        return self.children[-1]

    def _ask(self, path):
        port = self.metrics_port if path == "/metrics" else self.probe_port
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            connection.request("GET", path)
            reply = connection.getresponse()
            return reply.status, reply.read().decode()
        finally:
            connection.close()

    def _is_ready(self):
        try:
            return self._ask("/readyz")[0] == 200
        except OSError:
            return False

    # what is measured

    def writes(self):
        """Calls of the operator that change something, so far."""
        lines = self._ask("/metrics")[1].splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith("ratoon_api_calls_total")
                   and any(f'verb="{verb}"' in line for verb in ("create", "patch", "update", "delete")))

    def cpu_seconds(self):
        return cpu_seconds(self.controller.pid)

    def server_cpu_seconds(self):
        """What the API server and etcd took: on two cores they are the floor."""
        return sum(cpu_seconds(process.pid) for process in self.server.processes)

    def memory_bytes(self):
        return memory_bytes(self.controller.pid)

    def count(self, path):
        """How many there are, without reading them."""
        page = self.caller.call("GET", f"{path}?limit=1")
        return len(page["items"]) + page["metadata"].get("remainingItemCount", 0)

    def wait_for_pods(self):
        """When the last one of all was made."""
        wait_for("pods", lambda: self.count(PODS_PATH) >= JOBS * MEMBERS, 0.25)
        return time.monotonic()

    def jobs(self):
        found, rest = [], ""
        while True:
            page = self.caller.call("GET", f"{self.jobs_path}?limit=500{rest}")
            found += page["items"]
            token = page["metadata"].get("continue")
            if not token:
                return found
            rest = f"&continue={token}"


def cpu_seconds(pid):
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def memory_bytes(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))


def wait_for(what, is_there, pause=0.1):
    deadline = time.monotonic() + PATIENCE
    while not is_there():
        if time.monotonic() > deadline:
            raise RuntimeError(f"no {what} within {PATIENCE} s")
        time.sleep(pause)


def job(name, members, agent, **pod):
    container = {"name": "trainer", "image": "script:1", "command": ["python3", "train.py"]}
    return {"apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": name},
            "spec": {"numNodes": members, "startDeadlineSeconds": 0,
                     "roles": [{"name": "worker", "agent": agent,
                                "template": {"spec": {"containers": [container], **pod}}}]}}


def do_by_turns(server, todo, workers=4):
    """Each of `todo` is (method, path, body); several connections share them."""
    todo = list(todo)

    def work(share):
        caller = Caller(server)
        for one in share:
            caller.call(*one)

    threads = [threading.Thread(target=work, args=(todo[first::workers],)) for first in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def is_world_formed(one, attempt=1):
    status = one.get("status", {})
    return status.get("phase") == "Running" and status.get("attempt", 0) >= attempt


def row(name, seconds, whose="cluster", **counters):
    name = f"{whose}/{name}"
    return {"name": name, "run_name": name, "run_type": "iteration", "iterations": 1, "real_time": seconds * 1000,
            "cpu_time": counters.get("operator_cpu_seconds", 0) * 1000, "time_unit": "ms", **counters}


def start_all(bed):
    cpu, of_servers, writes, began = bed.cpu_seconds(), bed.server_cpu_seconds(), bed.writes(), time.monotonic()
    do_by_turns(bed.server, [("POST", JOBS_PATH, job(f"group-{n}", MEMBERS, "None")) for n in range(JOBS)])
    made = bed.wait_for_pods()
    wait_for("running groups", lambda: all(map(is_world_formed, bed.jobs())), 1)
    formed = time.monotonic() - began
    return row("start", made - began, items_per_second=JOBS * MEMBERS / (made - began), jobs=JOBS, members=MEMBERS,
               formed_seconds=formed,
               writes=bed.writes() - writes, operator_cpu_seconds=bed.cpu_seconds() - cpu,
               server_cpu_seconds=bed.server_cpu_seconds() - of_servers)


def rest(bed):
    """Converged: nothing is written."""
    time.sleep(2)
    cpu, writes = bed.cpu_seconds(), bed.writes()
    time.sleep(QUIET_SECONDS)
    return row("rest", QUIET_SECONDS, writes=bed.writes() - writes, memory_bytes=bed.memory_bytes(),
               operator_cpu_seconds=bed.cpu_seconds() - cpu)


def lose(bed):
    """All pods of as many groups as it takes vanish in one call."""
    hit = [f"group-{n}" for n in range(LOST // MEMBERS)]
    selector = urllib.parse.quote(f"ratoon.dev/job-name in ({','.join(hit)})")
    cpu, writes, began = bed.cpu_seconds(), bed.writes(), time.monotonic()
    bed.caller.call("DELETE", f"{PODS_PATH}?labelSelector={selector}", {"gracePeriodSeconds": 0})
    gone = time.monotonic() - began
    wait_for("groups that stand again", lambda: all(
        is_world_formed(one, 2) for one in bed.jobs() if one["metadata"]["name"] in hit), 0.5)
    back = time.monotonic() - began
    incarnations = [m["incarnation"] for one in bed.jobs() for m in one["status"]["members"]
                    if one["metadata"]["name"] in hit]
    return row("loss", back, lost=len(incarnations), deleted_seconds=gone, incarnations_max=max(incarnations),
               writes=bed.writes() - writes, operator_cpu_seconds=bed.cpu_seconds() - cpu)


class FirstWrites(threading.Thread):
    """When each job's status was written: the first thing that a decision does."""

    def __init__(self, server, seen):
        super().__init__(daemon=True)
        self.stream, self.seen = Caller(server).events(JOBS_PATH), seen
        self.start()

    def run(self):
        for event in self.stream:
            self.seen.setdefault(event["object"]["metadata"]["name"], []).append(time.monotonic())


def tell(bed):
    """Jobs of one member with the agent; the node of each gives notice, one after the other."""
    do_by_turns(bed.server, [("POST", JOBS_PATH, job(f"noticed-{n}", 1, "Ratoon", nodeSelector={"node": str(n)}))
                             for n in range(NODES)])
    nodes = {}

    def are_placed():
        for one in bed.jobs():
            members = one.get("status", {}).get("members", [{}])
            if one["metadata"]["name"].startswith("noticed-") and members[0].get("node"):
                nodes[one["metadata"]["name"]] = members[0]["node"]
        return len(nodes) == NODES

    wait_for("noticed members on nodes", are_placed, 1)
    seen, delays = {}, []
    FirstWrites(bed.server, seen)
    time.sleep(2)
    notice = [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]
    for name, node in nodes.items():
        known = len(seen.get(name, []))
        began = time.monotonic()
        bed.set_taints(node, notice)
        wait_for("a write", lambda: len(seen.get(name, [])) > known, 0.002)
        delays.append(seen[name][known] - began)
        bed.set_taints(node, None)
        wait_for("the end of its writes", lambda: time.monotonic() - seen[name][-1] > 0.3, 0.05)
    delays.sort()
    return row("notice_to_write", sum(delays) / len(delays), notices=len(delays), p50_seconds=delays[len(delays) // 2],
               p99_seconds=delays[len(delays) * 99 // 100])


def main(result):
    missing = missing_programs("kubectl", "kube-scheduler", "kwok")
    if missing:
        sys.exit(f"{', '.join(missing)} not found; scripts/setup --only test brings them")
    with Bed() as bed:
        rows = [start_all(bed), rest(bed), lose(bed), tell(bed)]
        rows.append(row("after", 0, memory_bytes=bed.memory_bytes(), operator_cpu_seconds=bed.cpu_seconds()))
    write(result, rows)


def write(result, rows):
    context = {"date": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "num_cpus": os.cpu_count(), "load_avg": os.getloadavg()}
    pathlib.Path(result).write_text(json.dumps({"context": context, "benchmarks": rows}, indent=1))


if __name__ == "__main__":
    main(sys.argv[1])
