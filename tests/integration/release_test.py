"""releaseAfterSeconds on a real API server with few nodes: a job that finds no node for its second member frees the node of
the first one, and comes back when a second node appears; two jobs that each hold a half of the nodes both end."""

import sys
import unittest

from api_server import missing_programs
from kubelet_stand_in import PODS, KubeletStandIn
from local_run import wait_until
from stand_in_cluster import JOBS, Operator, StandInCluster

EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
NO_NODE = "nodes are available: 1 Too many pods"
PATIENCE = 2  # seconds
PATIENCE_OF_TWO = 20  # seconds; the pauses have to differ by more than a busy machine needs to place two pods


class OnePodANode(KubeletStandIn):
    """Each node takes one pod, and a job without a node goes first. The scheduler tells a pod that it has no node for it."""

    def make_nodes(self):
        self.nodes = []
        self.told = set()  # pods, by UID
        self.add_node()

    def add_node(self):
        name = f"node-{len(self.nodes)}"
        self.cluster.post("/api/v1/nodes", {"metadata": {"name": name}})
        self.say_ready(name)
        self.nodes.append(name)

    def node_of(self, pod, pods):
        """A free node, unless another job waits for its first one."""
        pods = [other for other in pods if other["status"].get("phase") in ("Pending", "Running")]
        free = [node for node in self.nodes if node not in {other["spec"].get("nodeName") for other in pods}]
        have = {job_of(other) for other in pods if other["spec"].get("nodeName")}
        goes_later = job_of(pod) in have and {job_of(other) for other in pods} - have
        return free[0] if free and not goes_later else None

    def begin(self, pod):
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        # Pods that were bound after the last look count, too.
        node = pod["spec"].get("nodeName") or self.node_of(pod, self.cluster.get(PODS)["items"])
        if node is None:
            return self.tell_without_node(name, uid)
        if "nodeName" not in pod["spec"]:
            self.cluster.post(f"{PODS}/{name}/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
                                                         "target": {"kind": "Node", "name": node}})
            pod["spec"]["nodeName"] = node
        return super().begin(pod)

    def tell_without_node(self, name, uid):
        if uid in self.told:
            return
        self.cluster.patch(f"{PODS}/{name}/status", {"status": {"conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
             "message": f"0/{len(self.nodes)} {NO_NODE}"}]}})
        self.told.add(uid)


def job_of(pod):
    return pod["metadata"]["labels"]["ratoon.dev/job-name"]


class FewNodes(StandInCluster):
    kubelets = OnePodANode


def condition(status, kind):
    return next((c for c in status.get("conditions", []) if c["type"] == kind), {})


def wait_of(status):
    return status.get("capacityWait", {})


class Releases(unittest.TestCase):
    def setUp(self):
        self.cluster = FewNodes(self)
        Operator(self, self.cluster, "one", 1)

    def events(self, reason):
        return [event for event in self.cluster.get(EVENTS)["items"] if event["reason"] == reason]

    def names_of_pods(self, name):
        return {pod["metadata"]["name"] for pod in self.cluster.pods(name)}

    def test_a_job_frees_its_node_and_comes_back_when_there_are_two(self):
        self.cluster.start_job("j", steps=10_000_000, releaseAfterSeconds=PATIENCE)
        # Where pods outlast the pause on a busy machine, the message is about them, and that of the next release comes.
        status = self.cluster.wait_for("j", "a release", lambda status: "retryAt" in wait_of(status)
                                       and status.get("message", "").startswith("freed its nodes"))
        self.assertIn(NO_NODE, status["message"])
        self.assertEqual(status["phase"], "Pending")
        self.assertGreaterEqual(wait_of(status)["releases"], 1)
        told = condition(status, "Scheduled")
        self.assertEqual((told["status"], told["reason"], told["message"]), ("False", "NodesReleased", status["message"]))
        wait_until(lambda: self.events("NodesReleased"), "an event")
        status = self.cluster.wait_for("j", "another release", lambda status: wait_of(status).get("releases", 0) >= 2)
        wait_until(lambda: self.events("NodesRequested"), "an event about the end of the pause")
        self.assertGreaterEqual(status["ledger"]["waitingForCapacitySeconds"], PATIENCE)
        self.cluster.kubelet.add_node()
        status = self.cluster.wait_for("j", "a step", lambda status: status.get("progress", {}).get("step", 0) > 0)
        self.assertNotIn("capacityWait", status)
        self.assertEqual(sum(status["restarts"].values()), 0, "a release costs no budget")
        first = min(member["incarnation"] for member in status["members"])
        self.assertGreaterEqual(first, 2, "each release gave up its pods")
        self.assertEqual(len(self.names_of_pods("j")), 2)

    def test_a_change_of_the_specification_ends_a_pause(self):
        self.cluster.start_job("j", steps=10_000_000, releaseAfterSeconds=PATIENCE)
        self.cluster.wait_for("j", "a release", lambda status: "retryAt" in wait_of(status))
        before = {"j-worker-0-i0", "j-worker-1-i0"}  # the pause may be over by now
        self.cluster.patch(f"{JOBS}/j", {"spec": {"releaseAfterSeconds": None}})
        status = self.cluster.wait_for("j", "pods without a pause", lambda status: not wait_of(status))
        wait_until(lambda: len(self.names_of_pods("j") - before) == 2, "pods")
        self.assertEqual(sum(status["restarts"].values()), 0)

    def test_two_jobs_that_each_hold_a_half_both_end(self):
        for name in ("a", "b"):
            self.cluster.start_job(name, steps=20, releaseAfterSeconds=PATIENCE_OF_TWO)
        wait_until(lambda: any(pod["spec"].get("nodeName") for name in ("a", "b") for pod in self.cluster.pods(name)),
                   "a pod on the first node")
        wait_until(lambda: all(self.cluster.pods(name) for name in ("a", "b")), "pods of both")
        self.cluster.kubelet.add_node()  # the other job has it, unless the first one freed its node before
        for name in ("a", "b"):
            status = self.cluster.wait_for(name, f"the end of {name}", lambda status: status.get("phase") == "Succeeded", 600)
            self.assertEqual(sum(status["restarts"].values()), 0)
        self.assertTrue(self.events("NodesReleased"), "one of them made room for the other")


if __name__ == "__main__":
    if missing := missing_programs("helm", "kubectl"):
        print(f"SKIPPED: {', '.join(missing)} not found; scripts/setup --only test builds them (needs Go 1.25)")
        sys.exit(77)
    unittest.main()
