"""Karpenter with its kwok provider beside a real API server and a real scheduler: Karpenter makes nodes, and stand-ins of
kubelets run the pods that the scheduler binds to these nodes as processes of this machine. Used by
karpenter_nightly_test."""

import http.client
import json
import os
import subprocess
import time

from local_run import wait_until
from ports import take_port
from kubelet_stand_in import PODS, KubeletStandIn
from stand_in_cluster import ROOT, StandInCluster

CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
NOT_READY = "node.kubernetes.io/not-ready"
# A pod fits beside no other one.
NODE_CPUS, POD_CPUS = 4, 3
OFFERING = {"Price": 1, "Available": True, "Requirements": [
    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
    {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-a"]}]}
TYPES = [{"name": "c-4x", "architecture": "amd64", "operatingSystems": ["linux"], "offerings": [OFFERING],
          "resources": {"cpu": str(NODE_CPUS), "memory": "16Gi", "ephemeral-storage": "20Gi", "pods": "16"}}]
NODE_CLASS = {"apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass", "metadata": {"name": "default"}}
NODE_POOL = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "default"}, "spec": {
    "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never"},
    "template": {"spec": {
        "expireAfter": "Never",
        "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
        "requirements": [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}]}}}}


class KubeletsOnNodesOfOthers(KubeletStandIn):
    """Run only pods that have a node. A node is ready as soon as it is there."""

    def make_nodes(self):
        self.ready, self.dead = set(), set()

    def work(self):
        while not self.is_over.wait(0.02):
            try:
                for node in self.cluster.get("/api/v1/nodes")["items"]:
                    self.look_at_node(node)
                for pod in self.cluster.get(f"{PODS}?labelSelector=ratoon.dev/job-uid")["items"]:
                    if pod["spec"].get("nodeName", "") not in {"", *self.dead}:
                        self.look_at(pod)
            except (OSError, http.client.HTTPException):
                pass  # another writer was faster: look again

    def look_at_node(self, node):
        """Says that it is ready, and takes off the taint that a controller takes off elsewhere."""
        name, taints = node["metadata"]["name"], node["spec"].get("taints", [])
        if name not in self.ready:
            self.ready.add(name)
            self.say_ready(name)
        left = [taint for taint in taints if taint["key"] != NOT_READY]
        if left != taints:
            self.cluster.patch(f"/api/v1/nodes/{name}", {"metadata": {"resourceVersion": node["metadata"]["resourceVersion"]},
                                                         "spec": {"taints": left}})

    def kill_node(self, name):
        """Its processes end, and no kubelet is left to tell of it."""
        self.dead.add(name)
        for pod in self.cluster.get(f"{PODS}?labelSelector=ratoon.dev/job-uid")["items"]:
            if pod["spec"].get("nodeName") == name:
                self.end(pod["metadata"]["uid"])


class KarpenterCluster(StandInCluster):
    kubelets = KubeletsOnNodesOfOthers

    def __init__(self, test):
        super().__init__(test)
        self.children = []
        test.addCleanup(self.end_children)
        self.start_scheduler()
        self.start_karpenter()

    def kubectl(self, *words):
        return self.must("kubectl", f"--kubeconfig={self.admin}", *words)

    def run(self, name, *command, **environment):
        with open(self.folder / f"{name}.out", "wb") as log:
            self.children.append(subprocess.Popen([str(word) for word in command], stdout=log, stderr=log,
                                                  stdin=subprocess.DEVNULL, env={**os.environ, **environment}))

    def end_children(self):
        for child in self.children:
            child.kill()
            child.wait()

    def start_scheduler(self):
        config = self.folder / "scheduler.json"
        config.write_text(json.dumps({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False}, "clientConnection": {"kubeconfig": str(self.admin)}}))
        self.run("scheduler", "kube-scheduler", f"--config={config}", f"--secure-port={take_port()}",
                 f"--cert-dir={self.folder}/scheduler")

    def start_karpenter(self):
        module = json.loads(self.must("go", "-C", ROOT / "scripts/packages/servers/karpenter", "mod", "download", "-json",
                                      "sigs.k8s.io/karpenter"))["Dir"]
        for folder in ("pkg/apis/crds", "kwok/apis/crds"):
            self.kubectl("apply", "--server-side", "-f", f"{module}/{folder}")
        self.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=180s")
        self.kubectl("create", "namespace", "karpenter")
        types = self.folder / "types.json"
        types.write_text(json.dumps(TYPES))
        self.run("karpenter", "karpenter", KUBECONFIG=str(self.admin), KUBERNETES_MIN_VERSION="1.19.0",
                 SYSTEM_NAMESPACE="karpenter", DISABLE_LEADER_ELECTION="true", METRICS_PORT=str(take_port()),
                 HEALTH_PROBE_PORT=str(take_port()), INSTANCE_TYPES_FILE_PATH=str(types), LOG_LEVEL="debug")
        objects = self.folder / "pool.json"
        objects.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [NODE_CLASS, NODE_POOL]}))
        self.kubectl("apply", "-f", objects)

    def claims(self):
        return {claim["metadata"]["name"] for claim in self.get(CLAIMS)["items"]}

    def wait_for_claim(self, known):
        """The time at which Karpenter has claimed a node beside the known ones."""
        wait_until(lambda: self.claims() - known, f"a NodeClaim\n{self.logs()}")
        return time.monotonic()

    def seconds_of_a_bare_pod(self):
        """From a pod without any affinity to its NodeClaim. The pod stays and holds the node."""
        known, began = self.claims(), time.monotonic()
        container = {"name": "c", "image": "example.org/none:1", "resources": {"requests": {"cpu": str(POD_CPUS)}}}
        self.post(PODS, {"metadata": {"name": "bare"}, "spec": {"containers": [container],
                                                                "automountServiceAccountToken": False}})
        return self.wait_for_claim(known) - began

    def pod(self, name):
        return next((pod for pod in self.get(PODS)["items"] if pod["metadata"]["name"] == name), None)

    def node_of(self, pod_name):
        return self.pod(pod_name)["spec"].get("nodeName", "")

    def taint(self, node, key):
        self.kubectl("taint", "node", node, f"{key}:NoSchedule")
