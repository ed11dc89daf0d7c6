"""Under Karpenter: a member whose node falls silent or gives notice gets a new node as soon as a bare pod would."""

import sys
import time
import unittest

from api_server import missing_programs
from karpenter import POD_CPUS, KarpenterCluster
from local_run import keep_figures, wait_until
from stand_in_cluster import Operator

# The container of a member of counter. A claim would keep Karpenter waiting for a volume.
TRAINER = {"name": "trainer", "image": "example.org/counter:1",
           "command": ["counter", "--steps", "100000", "--pause-ms", "5"],
           "env": [{"name": "RATOON_SAVE_FOLDER", "value": "/"}],
           "resources": {"requests": {"cpu": str(POD_CPUS)}}}

# Karpenter takes its own taint off a node that it does not end.
NOTICE = "ToBeDeletedByClusterAutoscaler"


class Karpenter(unittest.TestCase):
    def setUp(self):
        self.cluster = KarpenterCluster(self)
        self.operator = Operator(self, self.cluster, "one", 1, "--all-namespaces")
        self.bare = self.cluster.seconds_of_a_bare_pod()

    def start(self, **spec):
        self.cluster.start_job("job", steps=0, checkpointPolicy={"intervalSteps": 10},
                               disruptionPolicy={"suspectAfterSeconds": 10}, roles=[
            {"name": "worker", "template": {"spec": {"containers": [TRAINER], **spec}}}])
        self.wait_for_world("its world", 0)
        self.node = self.cluster.node_of("job-worker-0-i0")
        self.claims = self.cluster.claims()
        self.assertEqual(len(self.claims), 3, "a node for the bare pod, and one for each member")

    def wait_for_world(self, what, step):
        self.cluster.wait_for("job", what, lambda status: status.get("phase") == "Running"
                              and status.get("progress", {}).get("step", 0) > step)

    def follow_successor(self, hurt):
        """Returns the seconds from the loss or notice to the pod, and from the pod to its NodeClaim."""
        began = time.monotonic()
        hurt(self.node)
        told = time.monotonic()
        wait_until(lambda: self.cluster.pod("job-worker-0-i1"), f"the next pod\n{self.cluster.logs()}")
        made = time.monotonic()
        claimed = self.cluster.wait_for_claim(self.claims)
        wait_until(lambda: self.cluster.node_of("job-worker-0-i1"), f"its node\n{self.cluster.logs()}")
        self.assertNotEqual(self.cluster.node_of("job-worker-0-i1"), self.node)
        figures = {"pod after the loss": made - began, "pod after the news": made - told,
                   "NodeClaim after the pod": claimed - made, "NodeClaim after a bare pod": self.bare}
        keep_figures({name: round(value, 2) for name, value in figures.items()})
        self.assertLess(claimed - made, self.bare + 0.3)
        self.wait_for_world("its world with the new member", self.cluster.step("job"))

    def test_a_node_falls_silent(self):
        self.start()
        self.follow_successor(self.cluster.kubelet.kill_node)
        self.assertEqual(self.cluster.status("job")["restarts"]["disruption"], 1)

    def test_a_node_gives_notice(self):
        self.start()
        self.follow_successor(lambda node: self.cluster.taint(node, NOTICE))
        self.assertEqual(self.cluster.status("job")["restarts"]["disruption"], 0)

    def test_a_node_gives_notice_that_the_template_tolerates(self):
        self.start(tolerations=[{"operator": "Exists"}])
        self.follow_successor(lambda node: self.cluster.taint(node, NOTICE))


if __name__ == "__main__":
    if missing := missing_programs("helm", "kubectl", "kube-scheduler", "karpenter", "go"):
        print(f"SKIPPED: {', '.join(missing)} not found; scripts/nightly builds Karpenter (needs Go 1.26.6)")
        sys.exit(77)
    unittest.main()
