"""A cluster with Ratoon on it, for tests: images, chart, jobs, and the ways in which things are lost."""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time

import machine

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/lib"))

from cluster import api as cluster_api  # noqa: E402
from cluster import arguments, control_plane, images, network, node as cluster_node, programs, state  # noqa: E402
from login_manager import LoginManager  # noqa: E402

PROGRAMS = pathlib.Path(os.environ.get("RATOON_BUILD_DIR", ROOT / "build/release")) / "bin"
JOBS = "/apis/ratoon.dev/v1alpha1/namespaces/default/trainingjobs"


class Lab:
    """One cluster. Operators stay on the first nodes; what a test loses are others, unless it says otherwise."""

    def __init__(self, name):
        self.name = name
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-lab-"))
        self.folder.chmod(0o755)
        self.killed_at = {}
        self.login_managers = {}

    def up(self, nodes=3, operators=("node-1",), chart=ROOT / "charts/ratoon", is_rendered=False, grace_seconds=None):
        """`is_rendered`: Helm only renders, and kubectl applies that, as tools for GitOps do. `grace_seconds`: how long the
        control plane waits for a silent node before the node is not ready, if not as long as Kubernetes does by itself."""
        grace = ["--node-monitor-grace-period", str(grace_seconds)] if grace_seconds else []
        self.cluster("up", "--nodes", str(nodes), *grace)
        self.kubeconfig = self.cluster("kubeconfig").strip()
        self.handle = state.Cluster(arguments.cache_folder(), self.name).load()
        self.plan = network.Plan(self.handle.slot)
        self.api = cluster_api.Api(self.handle, self.plan)
        self.load_image("operator", "ratoon-operator", "ratoon-operator:dev", "--program", PROGRAMS / "ratoon",
                        "--program", PROGRAMS / "ratoon-launcher")
        self.load_image("trainer", "digits", "ratoon-digits:dev", "--program", PROGRAMS / "ratoon",
                        "--program", PROGRAMS / "gated_digits", "--libraries-from", libtorch_libraries())
        self.kubectl("label", "node", *operators, "runs-operators=yes")
        values = ["--set-string", "nodeSelector.runs-operators=yes", "--set", "image.pullPolicy=Never",
                  "--set", f"replicas={len(operators)}"]
        if is_rendered:
            self.kubectl("create", "namespace", "ratoon-system")
            self.rendered = run("helm", "template", "ratoon", chart, "--namespace", "ratoon-system", "--no-hooks",
                                "--kube-version", "1.35.0", *values)
            self.apply_rendered()
        else:
            self.helm("install", chart, "--create-namespace", *values)

    def helm(self, verb, chart, *more):
        run("helm", verb, "ratoon", chart, "--kubeconfig", self.kubeconfig, "--namespace", "ratoon-system", "--wait",
            "--timeout", "300s", *more)

    def apply_rendered(self):
        """Until the operators are available."""
        self.kubectl("apply", "--namespace", "ratoon-system", "-f", "-", text=self.rendered)
        self.kubectl("--namespace", "ratoon-system", "rollout", "status", "deployment/ratoon", "--timeout=180s")

    def helm_test(self):
        run("helm", "test", "ratoon", "--kubeconfig", self.kubeconfig, "--namespace", "ratoon-system", "--timeout", "180s")

    def load_image(self, kind, program, tag, *more):
        image = self.folder / f"{pathlib.Path(program).name}.tar"
        run(ROOT / "scripts/image", kind, image, "--program", PROGRAMS / program, "--tag", tag, *more)
        self.cluster("image", "load", str(image))

    def load_python(self):
        """An interpreter; pods find its library at their nodes, which see this machine's files."""
        self.load_image("trainer", pathlib.Path(sys.executable).resolve(), "python:dev")

    def down(self):
        self.cluster("down")
        for manager in self.login_managers.values():
            manager.close()
        shutil.rmtree(self.folder)

    def cluster(self, *words):
        return run(ROOT / "scripts/cluster", *words, "--name", self.name)

    def kubectl(self, *words, text=None):
        return run("kubectl", "--kubeconfig", self.kubeconfig, *words, text=text)

    def apply(self, *objects):
        self.kubectl("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    # jobs

    def start(self, name, steps, pause_ms, held_at=None, **spec):
        """A run of digits on a volume of its own, which is a folder of this machine. `held_at`: the steps that it makes before
        it is let_pass()."""
        self.make_volume(name)
        if held_at is not None:
            self.let_pass(name, held_at)
        self.apply(digits(name, steps, pause_ms, is_held=held_at is not None, **spec))

    def let_pass(self, name, steps):
        """What is to be hurt at a step cannot be at its end before: it waits at a gate, the file that this writes."""
        partial = self.folder / name / "gate.partial"
        partial.write_text(str(steps))
        partial.rename(self.folder / name / "gate")

    def make_volume(self, name):
        volume = self.folder / name
        volume.mkdir()
        volume.chmod(0o777)
        self.apply(*claim(name, volume))
        self.kubectl("wait", "--for=jsonpath={.status.phase}=Bound", "--timeout=180s", f"pvc/{name}")
        return volume

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

    def wait_until(self, what, is_so, seconds, story=None):
        deadline = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > deadline:
                story = story or (lambda: self.kubectl("get", "pods", "-A", "-o", "wide"))
                raise AssertionError(f"no {what} within {seconds} s\n{story()}")
            time.sleep(0.2)

    def nodes_of(self, name):
        return {pod["spec"].get("nodeName") for pod in self.pods(name) if "deletionTimestamp" not in pod["metadata"]}

    def events(self, name):
        found = self.api.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
        return [event for event in found if event["regarding"].get("name") == name]

    def checkpoints(self, name):
        """(attempt, step) of each that is committed now."""
        found = (re.fullmatch(r".*?(\d+)\.a(\d+)\.json", path.name) for path in self.folder.glob(f"{name}/*/manifests/*"))
        return {(int(match[2]), int(match[1])) for match in found if match}

    def weights(self, name):
        return (self.folder / name / "weights").read_text().split()[-1]

    def said_on(self, node, name):
        """What the job's containers there printed, whether its kubelet answers or not."""
        logs = sorted(self.handle.node_folder(node).glob(f"pods/default_{name}-worker-*/*/*.log"))
        return "".join(log.read_text() for log in logs)

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

    def processes(self, command, *group):
        """Of that name (the kernel keeps 15 characters of it), in a part of the cluster."""
        found = machine.processes_in("/".join(("ratoon", self.name, *group)))
        return [pid for pid, name in found.items() if name == command[:15]]

    def only_process(self, command, *group):
        found = self.processes(command, *group)
        if len(found) != 1:
            raise AssertionError(f"expected one {command} in {'/'.join(group)}, found {found}")
        return found[0]

    def kill_operator(self):
        """kill -9 of its process; its kubelet starts it again. On a machine under load its probe may just have failed, and its
        kubelet is starting it again anyway."""
        self.wait_until("process of the operator", lambda: self.processes("ratoon-operator", "nodes", "node-1"), 180)
        os.kill(self.only_process("ratoon-operator", "nodes", "node-1"), signal.SIGKILL)

    def leader_node(self):
        """Where the operator runs that holds the lease."""
        lease = self.api.get("/apis/coordination.k8s.io/v1/namespaces/ratoon-system/leases/ratoon")
        pod = lease["spec"].get("holderIdentity", "").split("/")[0]
        pods = self.api.get("/api/v1/namespaces/ratoon-system/pods")["items"]
        return next((each["spec"]["nodeName"] for each in pods if each["metadata"]["name"] == pod), "")

    def kill_a_trainer(self, node):
        """kill -9 of one of the held trainer's processes there, of which there are several."""
        found = self.processes("gated_digits", "nodes", node)
        if len(found) < 2:
            raise AssertionError(f"expected several trainers on {node}, found {found}")
        os.kill(random.choice(found), signal.SIGKILL)

    def cut_off(self, node):
        """Its kubelet stands still and its pods reach nobody, but what runs there runs on. Returns the moment."""
        os.kill(self.only_process("kubelet", "nodes", node, "daemons"), signal.SIGSTOP)
        self.change_cut("-I", node)
        return time.time()

    def reconnect(self, node):
        self.change_cut("-D", node)
        os.kill(self.only_process("kubelet", "nodes", node, "daemons"), signal.SIGCONT)

    def change_cut(self, verb, node):
        pods = self.plan.pods_of(self.handle.load().nodes[node])
        for side in ("-s", "-d"):
            run(*network.inside(self.name), "iptables", "-t", "raw", verb, "PREROUTING", side, pods, "-j", "DROP")

    def cut_link(self, one, other):
        """Pods on these two nodes do not reach each other, and reach everything else."""
        self.change_link("-I", one, other)

    def mend_link(self, one, other):
        self.change_link("-D", one, other)

    def change_link(self, verb, one, other):
        pods = [self.plan.pods_of(self.handle.load().nodes[node]) for node in (one, other)]
        for source, target in (pods, reversed(pods)):
            run(*network.inside(self.name), "iptables", "-t", "raw", verb, "PREROUTING", "-s", source, "-d", target,
                "-j", "DROP")

    def kill_api_server(self):
        os.kill(self.only_process("kube-apiserver", "control-plane"), signal.SIGKILL)

    def revive_api_server(self):
        control_plane.start_api_server(self.handle, self.plan)
        self.wait_until("API server", self.api.is_ready, 60, story=lambda: "")

    def add_node(self, node):
        """A new one, or one that was killed; it can be shut down in good order."""
        if node in self.login_managers:
            self.login_managers.pop(node).close()
        path = cluster_node.login_manager_socket(self.handle, node)
        path.unlink(missing_ok=True)
        self.login_managers[node] = LoginManager(path)
        self.cluster("node", "add", node)


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
    needed = ("ratoon-operator", "ratoon", "ratoon-launcher", "digits", "gated_digits")
    unbuilt = [name for name in needed if not (PROGRAMS / name).exists()]
    return f"{' '.join(unbuilt)} is not built in {PROGRAMS}" if unbuilt else ""


def libtorch_libraries():
    """Where scripts/setup put LibTorch, unless the environment names another one."""
    named = os.environ.get("RATOON_LIBTORCH_ROOT")
    root = pathlib.Path(named) if named else sorted(pathlib.Path(arguments.cache_folder()).glob("libtorch-*"))[-1]
    return next((folder for folder in (root / "torch/lib", root / "lib") if folder.is_dir()), root / "torch/lib")


def run(*words, text=None):
    done = subprocess.run([str(word) for word in words], input=text, capture_output=True, text=True, timeout=1200)
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


def digits(name, steps, pause_ms, is_held=False, **spec):
    launcher = ["ratoon", "launch", "--"] if spec.get("processesPerNode", 1) > 1 else []
    trainer = {"name": "trainer", "image": "ratoon-digits:dev", "imagePullPolicy": "Never",
               "command": [*launcher, "gated_digits" if is_held else "digits", "--steps", str(steps),
                           "--pause-ms", str(pause_ms), "--seed", "17", "--out", "/ratoon/checkpoints/weights"],
               "env": [{"name": "TEST_STEP_GATE", "value": "/ratoon/checkpoints/gate"}] if is_held else [],
               "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}}}
    return training_job(name, {"containers": [trainer]}, **spec)


def training_job(name, pod, is_alone=False, is_anywhere=False, agent="Ratoon", **spec):
    """`is_alone`: no node takes two of its members."""
    # The operator's node is for the operator, so that each member's node can be killed.
    elsewhere = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["node-1"]}
    pod["affinity"] = {} if is_anywhere else {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [elsewhere]}]}}}
    if is_alone:
        pod["affinity"]["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"ratoon.dev/job-name": name}}}]}
    return {"apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"numNodes": 3, "roles": [{"name": "worker", "agent": agent, "template": {"spec": pod}}],
                     "checkpointPolicy": {"volumeClaimName": name, "intervalSteps": 20, "keepLast": 3}, **spec}}


def plain_script(name, steps, agent="None", **spec):
    """tests/integration/plain_trainer.py, which stands in the job's volume; rank 0 keeps there what was reached."""
    folder = "/ratoon/checkpoints"
    library = sysconfig.get_paths()["stdlib"]
    trainer = {"name": "trainer", "image": "python:dev", "imagePullPolicy": "Never",
               "command": [pathlib.Path(sys.executable).resolve().name, f"{folder}/plain_trainer.py", folder, str(steps)],
               "resources": {"requests": {"cpu": "50m", "memory": "32Mi"}},
               "volumeMounts": [{"name": "library", "mountPath": f"/usr/local/lib/{pathlib.Path(library).name}"}]}
    return training_job(name, {"containers": [trainer], "volumes": [{"name": "library", "hostPath": {"path": library}}]},
                        agent=agent, **spec)


def is_stepping(step, attempt=0):
    """All members train in a world newer than `attempt` and have come further than `step`."""
    return lambda status: (status.get("phase") == "Running" and status["attempt"] > attempt
                           and status["progress"]["step"] > step)
