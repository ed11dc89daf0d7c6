"""What nodes do in a cluster without machines: pods become processes here. Used by stand_in_cluster."""

import http.client
import os
import pathlib
import subprocess
import threading

BIN = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin"
PODS = "/api/v1/namespaces/default/pods"
NODES = [f"node-{number}" for number in range(64)]  # a node that lost members is avoided for long


def keeps_off(pod, other):
    """Whether required anti-affinity keeps the pod off the node of the other one."""
    terms = pod["spec"].get("affinity", {}).get("podAntiAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", [])
    return any(term["labelSelector"]["matchLabels"].items() <= other["metadata"]["labels"].items() for term in terms)


def disliked_nodes(pod):
    """Those that its preferred affinity excludes. These nodes report once that they are ready, so a suspicion never ends."""
    terms = pod["spec"].get("affinity", {}).get("nodeAffinity", {}).get("preferredDuringSchedulingIgnoredDuringExecution", [])
    return {name for term in terms for field in term["preference"].get("matchFields", []) for name in field["values"]}


def node_for(pod, pods):
    """Any that the pod does not keep away from, as a scheduler with many free nodes chooses."""
    avoided = {other["spec"].get("nodeName") for other in pods if keeps_off(pod, other)} | disliked_nodes(pod)
    free = [node for node in NODES if node not in avoided]
    return free[int(pod["metadata"]["uid"][:8], 16) % len(free)]  # the same one for the same pod


class KubeletStandIn:
    """What scheduler and kubelets do, on nodes that are always ready: a pod is a process of this machine."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.running = {}  # by the pod's UID
        self.pods = []
        self.is_over = threading.Event()
        self.make_nodes()
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def make_nodes(self):
        for node in NODES:
            self.cluster.post("/api/v1/nodes", {"metadata": {"name": node}})
            self.say_ready(node)

    def say_ready(self, node):
        self.cluster.patch(f"/api/v1/nodes/{node}/status",
                           {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})

    def save_folder(self, job):
        folder = self.cluster.folder / "volumes" / job
        folder.mkdir(parents=True, exist_ok=True)
        if self.cluster.user is not None:  # what fsGroup does
            os.chown(folder, -1, self.cluster.volume_group)
            folder.chmod(0o2770)
        return folder

    def work(self):
        while not self.is_over.wait(0.05):
            try:
                self.look()
            except (OSError, http.client.HTTPException):
                pass  # the API server is away, or another client changed the pod first: the next look sees it

    def look(self):
        self.pods = self.cluster.get(f"{PODS}?labelSelector=ratoon.dev/job-uid")["items"]
        for pod in self.pods:
            self.look_at(pod)

    def look_at(self, pod):
        meta, uid = pod["metadata"], pod["metadata"]["uid"]
        if "deletionTimestamp" in meta:
            self.end(uid)
            self.cluster.server.request("DELETE", f"{PODS}/{meta['name']}",
                                        {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}})
        elif uid not in self.running:
            self.begin(pod)
        elif self.running[uid]["process"].poll() is not None and not self.running[uid]["told"]:
            self.tell_end(pod)

    def begin(self, pod):
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        if not pod["spec"].get("nodeName"):
            self.cluster.post(f"{PODS}/{name}/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
                                                         "target": {"kind": "Node", "name": node_for(pod, self.pods)}})
        container = pod["spec"]["containers"][0]
        token, ending = self.cluster.folder / f"{uid}.token", self.cluster.folder / f"{uid}.ending"
        bound = {"kind": "Pod", "apiVersion": "v1", "name": name, "uid": uid}
        token.write_text(self.cluster.post("/api/v1/namespaces/default/serviceaccounts/default/token", {
            "spec": {"audiences": ["ratoon"], "boundObjectRef": bound}})["status"]["token"])
        ending.write_text("")
        if self.cluster.user is not None:
            for file in (token, ending):
                os.chown(file, self.cluster.user, 0)
        told = {"RATOON_MEMBER_UID": uid, "RATOON_POD_IP": "127.0.0.1", "RATOON_TOKEN_FILE": str(token),
                "RATOON_TERMINATION_FILE": str(ending), "RATOON_METRICS_PORT": "0",
                "RATOON_NOTICE_FILE": str(self.cluster.folder / f"{uid}.notice"),
                "MASTER_PORT": "0",  # all pods are on one machine: its launcher takes a free port
                "RATOON_SAVE_FOLDER": str(self.save_folder(pod["metadata"]["labels"]["ratoon.dev/job-name"]))}
        environment = {each["name"]: told.get(each["name"], each.get("value", "")) for each in container["env"]}
        self.cluster.patch(f"{PODS}/{name}/status", {"status": {
            "phase": "Running", "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}})
        with open(self.cluster.folder / f"{name}.out", "a") as out:
            process = subprocess.Popen([self.cluster.program(container["command"][0]), *container["command"][1:]], stdout=out,
                                       stderr=out, stdin=subprocess.DEVNULL, env={**os.environ, **environment},
                                       **self.cluster.credentials())
        self.running[uid] = {"process": process, "ending": ending, "told": False, "name": name}

    def tell_end(self, pod):
        run, name = self.running[pod["metadata"]["uid"]], pod["metadata"]["name"]
        code = run["process"].returncode
        ended = {"exitCode": code if code >= 0 else 128 - code, "message": run["ending"].read_text(), "reason": "Ended"}
        self.cluster.patch(f"{PODS}/{name}/status", {"status": {
            "phase": "Succeeded" if code == 0 else "Failed",
            "containerStatuses": [{"name": "trainer", "image": "i", "imageID": "", "ready": False, "restartCount": 0,
                                   "state": {"terminated": ended}}]}})
        run["told"] = True

    def end(self, uid):
        if uid in self.running and self.running[uid]["process"].poll() is None:
            self.running[uid]["process"].kill()
            self.running[uid]["process"].wait()

    def process_of(self, pod_name):
        runs = list(self.running.values())  # at once: the thread may add another one
        return next(run["process"] for run in runs if run["name"] == pod_name)

    def close(self):
        self.is_over.set()
        self.thread.join()
        for uid in self.running:
            self.end(uid)
