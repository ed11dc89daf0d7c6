"""A cluster with Ratoon on it, for tests: images, chart, jobs, and the ways in which things are lost."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import machine

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/lib"))

from cluster import api as cluster_api  # noqa: E402
from cluster import arguments, network, programs, state  # noqa: E402

PROGRAMS = pathlib.Path(os.environ.get("RATOON_BUILD_DIR", ROOT / "build/release")) / "bin"
JOBS = "/apis/ratoon.dev/v1alpha1/namespaces/default/trainingjobs"


class Lab:
    """One cluster of three nodes. The operator stays on node-1, which is never killed."""

    def __init__(self, name):
        self.name = name
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-lab-"))
        self.folder.chmod(0o755)
        self.killed_at = {}

    def up(self):
        self.cluster("up", "--nodes", "3")
        self.kubeconfig = self.cluster("kubeconfig").strip()
        handle = state.Cluster(arguments.cache_folder(), self.name).load()
        self.api = cluster_api.Api(handle, network.Plan(handle.slot))
        self.load_image("operator", "ratoon-operator", "ratoon-operator:dev")
        self.load_image("trainer", "digits", "ratoon-digits:dev", "--program", PROGRAMS / "ratoon",
                        "--libraries-from", libtorch() / "torch/lib")
        run("helm", "install", "ratoon", ROOT / "charts/ratoon", "--kubeconfig", self.kubeconfig, "--namespace",
            "ratoon-system", "--create-namespace", "--wait", "--timeout", "90s",
            "--set", r"nodeSelector.kubernetes\.io/hostname=node-1", "--set", "image.pullPolicy=Never",
            "--set", "replicas=1")  # the one that is killed is the one that leads

    def load_image(self, kind, program, tag, *more):
        image = self.folder / f"{program}.tar"
        run(ROOT / "scripts/image", kind, image, "--program", PROGRAMS / program, "--tag", tag, *more)
        self.cluster("image", "load", str(image))

    def down(self):
        self.cluster("down")
        shutil.rmtree(self.folder)

    def cluster(self, *words):
        return run(ROOT / "scripts/cluster", *words, "--name", self.name)

    def kubectl(self, *words, text=None):
        return run("kubectl", "--kubeconfig", self.kubeconfig, *words, text=text)

    def apply(self, *objects):
        self.kubectl("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    # jobs

    def start(self, name, steps, pause_ms, **spec):
        """A run of digits on a volume of its own, which is a folder of this machine."""
        volume = self.folder / name
        volume.mkdir()
        volume.chmod(0o777)
        self.apply(*claim(name, volume))
        self.kubectl("wait", "--for=jsonpath={.status.phase}=Bound", "--timeout=60s", f"pvc/{name}")
        self.apply(digits(name, steps, pause_ms, **spec))

    def job(self, name):
        return self.api.get(f"{JOBS}/{name}")

    def status(self, name):
        return self.job(name).get("status", {})

    def pods(self, name):
        return self.api.get(f"/api/v1/namespaces/default/pods?labelSelector=ratoon.dev/job-name%3D{name}")["items"]

    def wait(self, name, what, says, seconds):
        """The first status of which `says` is true."""
        deadline = time.monotonic() + seconds
        while True:
            status = self.status(name)
            if status.get("phase") == "Failed" and what != "failure":
                raise AssertionError(f"{name} failed: {status.get('message')}\n{self.story(name)}")
            if says(status):
                return status
            if time.monotonic() > deadline:
                raise AssertionError(f"{name}: no {what} within {seconds} s\n{self.story(name)}")
            time.sleep(0.1)

    def wait_until(self, what, is_so, seconds):
        deadline = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > deadline:
                raise AssertionError(f"no {what} within {seconds} s\n{self.kubectl('get', 'pods', '-o', 'wide')}")
            time.sleep(0.2)

    def nodes_of(self, name):
        return {pod["spec"].get("nodeName") for pod in self.pods(name) if "deletionTimestamp" not in pod["metadata"]}

    def events(self, name):
        found = self.api.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
        return [event for event in found if event["regarding"].get("name") == name]

    def weights(self, name):
        return (self.folder / name / "weights").read_text().split()[-1]

    def story(self, name):
        parts = [self.kubectl("get", "tj,pods", "-o", "wide"), json.dumps(self.status(name), indent=1)]
        parts.append(self.kubectl("get", "events", "--sort-by=.lastTimestamp"))
        for words in (["-n", "ratoon-system", "logs", "deployment/ratoon", "--tail=40"],
                      *(["logs", pod["metadata"]["name"], "--tail=15"] for pod in self.pods(name))):
            try:
                parts.append(f"$ kubectl {' '.join(words)}\n{self.kubectl(*words)}")
            except AssertionError as error:
                parts.append(str(error))
        return "\n".join(parts)

    # losses

    def node_of_a_member(self, name, avoid=()):
        return random.choice(sorted(node for node in self.nodes_of(name) if node and node not in avoid))

    def kill_node(self, node):
        """Returns the wall-clock moment of the kill, in seconds."""
        self.killed_at[node] = int(self.cluster("node", "kill", node).split()[-1]) / 1000
        return self.killed_at[node]

    def kill_operator(self):
        """kill -9 of the operator's process; its kubelet starts it again."""
        found = [pid for pid, command in machine.processes_in(f"ratoon/{self.name}/nodes/node-1").items()
                 if command == "ratoon-operator"]
        if len(found) != 1:
            raise AssertionError(f"expected one operator on node-1, found {found}")
        os.kill(found[0], signal.SIGKILL)

    def kill_a_trainer(self, node):
        """kill -9 of one of the trainer's processes there, of which there are several."""
        found = [pid for pid, command in machine.processes_in(f"ratoon/{self.name}/nodes/{node}").items()
                 if command == "digits"]
        if len(found) < 2:
            raise AssertionError(f"expected several trainers on {node}, found {found}")
        os.kill(random.choice(found), signal.SIGKILL)

    def taint(self, node, key="karpenter.sh/disrupted", effect="NoSchedule"):
        self.kubectl("taint", "node", node, f"{key}=:{effect}")


def what_is_missing():
    """Why no cluster can be had here, or nothing."""
    programs.extend_path(arguments.cache_folder())
    lacking = programs.missing() + [name for name in ("kubectl", "helm", "prometheus") if shutil.which(name) is None]
    if os.geteuid() != 0:
        return "a cluster needs root"
    if lacking:
        return f"{' '.join(lacking)} is not here; scripts/setup installs it"
    unbuilt = [name for name in ("ratoon-operator", "ratoon", "digits") if not (PROGRAMS / name).exists()]
    return f"{' '.join(unbuilt)} is not built in {PROGRAMS}" if unbuilt else ""


def libtorch():
    """Where scripts/setup put it, unless the environment names another one."""
    if named := os.environ.get("RATOON_LIBTORCH_ROOT"):
        return pathlib.Path(named)
    return sorted(pathlib.Path(arguments.cache_folder()).glob("libtorch-*"))[-1]


def run(*words, text=None):
    done = subprocess.run([str(word) for word in words], input=text, capture_output=True, text=True, timeout=200)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def claim(name, folder):
    """A volume that all nodes see, and the claim on it."""
    common = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    return ({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
             "spec": {**common, "capacity": {"storage": "1Gi"}, "hostPath": {"path": str(folder)},
                      "claimRef": {"namespace": "default", "name": name}}},
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
             "spec": {**common, "volumeName": name, "resources": {"requests": {"storage": "1Gi"}}}})


def digits(name, steps, pause_ms, **spec):
    launcher = ["ratoon", "launch", "--"] if spec.get("processesPerNode", 1) > 1 else []
    trainer = {"name": "trainer", "image": "ratoon-digits:dev", "imagePullPolicy": "Never",
               "command": [*launcher, "digits", "--steps", str(steps), "--pause-ms", str(pause_ms), "--seed", "17",
                           "--out", "/ratoon/checkpoints/weights"],
               "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}}}
    # The operator's node is for the operator, so that each member's node can be killed.
    elsewhere = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["node-1"]}]}]}}}
    pod = {"containers": [trainer], "affinity": elsewhere}
    return {"apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"numNodes": 3, "roles": [{"name": "worker", "template": {"spec": pod}}],
                     "checkpointPolicy": {"volumeClaimName": name, "intervalSteps": 20, "keepLast": 3}, **spec}}


def is_stepping(step, attempt=0):
    """All members train in a world newer than `attempt` and have come further than `step`."""
    return lambda status: (status.get("phase") == "Running" and status["attempt"] > attempt
                           and status["progress"]["step"] > step)
