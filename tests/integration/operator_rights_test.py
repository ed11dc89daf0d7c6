"""What the chart grants to the operator and what the operator does, by the audit log of a real API server: it is the same."""

import json
import signal
import sys
import time
import unittest

from api_server import missing_programs
from stand_in_cluster import NAMESPACE, PODS, Operator, StandInCluster

ACCOUNT = {"kind": "ServiceAccount", "name": "ratoon", "namespace": NAMESPACE}
# Asked for by an admission plugin, OwnerReferencesPermissionEnforcement, and never called.
NOT_CALLED = {("ratoon.dev", "trainingjobs/finalizers", "update")}
RBAC = "/apis/rbac.authorization.k8s.io/v1"


class Rights(unittest.TestCase):
    def setUp(self):
        self.cluster = StandInCluster(self)
        # Its options are of a file; where flags say otherwise, they win.
        config = self.cluster.folder / "operator.yaml"
        config.write_text(json.dumps({"apiVersion": "operator.ratoon.dev/v1alpha1", "kind": "OperatorConfig",
                                      "metricsPort": 1, "leaderElection": {"enabled": True, "leaseName": "another"}}))
        self.operator = Operator(self, self.cluster, "one", 1, f"--config={config}")

    def granted(self):
        found = set()
        for kind, place in (("clusterroles", ""), ("roles", f"/namespaces/{NAMESPACE}")):
            bindings = kind.replace("roles", "rolebindings")
            for binding in self.cluster.get(f"{RBAC}{place}/{bindings}")["items"]:
                if ACCOUNT not in binding.get("subjects", []):
                    continue
                for rule in self.cluster.get(f"{RBAC}{place}/{kind}/{binding['roleRef']['name']}")["rules"]:
                    found |= {(group, resource, verb) for group in rule["apiGroups"] for resource in rule["resources"]
                              for verb in rule["verbs"]}
        return found - NOT_CALLED

    def used(self):
        return {(call["objectRef"].get("apiGroup", ""),
                 "/".join(filter(None, (call["objectRef"]["resource"], call["objectRef"].get("subresource")))), call["verb"])
                for call in self.operator.calls()}

    def test_every_right_is_used_and_no_other_one_is_asked_for(self):
        # A job that loses a member, ends, and is deleted when its time is up.
        self.cluster.start_job("ends", steps=400, ttlSecondsAfterFinished=1)
        self.cluster.wait_for("ends", "steps", lambda status: status.get("progress", {}).get("step", 0) > 0)
        self.cluster.kubelet.process_of("ends-worker-0-i0").send_signal(signal.SIGSTOP)
        # One whose pods' names are taken: refused again and again, which is counted in one event.
        for index in (0, 1):
            self.cluster.post(PODS, {"metadata": {"name": f"taken-worker-{index}-i0"}, "spec": {
                "containers": [{"name": "trainer", "image": "example.org/counter:1", "command": ["true"], "env": []}]}})
        self.cluster.start_job("taken", steps=10)
        deadline = time.monotonic() + 120
        while (unused := self.granted() - self.used()) and time.monotonic() < deadline:
            time.sleep(0.2)
        self.assertEqual(unused, set(), self.cluster.logs())
        self.assertEqual(self.used() - self.granted(), set())
        self.assertTrue(self.operator.is_leading())
        refused = [call for call in self.operator.calls() if call["responseStatus"]["code"] in (401, 403)]
        self.assertEqual(refused, [])


if __name__ == "__main__":
    if missing := missing_programs("helm", "kubectl"):
        print(f"SKIPPED: {', '.join(missing)} not found; scripts/setup --only test builds them (needs Go 1.25)")
        sys.exit(77)
    unittest.main()
