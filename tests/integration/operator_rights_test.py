"""What the chart grants to the operator and what the operator does, by the audit log of a real API server: it is the same, for
all namespaces and for one."""

import json
import signal
import sys
import time
import unittest
import uuid

from api_server import missing_programs
from local_run import wait_until
from stand_in_cluster import CERTIFICATE, JOBS, NAMESPACE, PODS, SLICE, Operator, StandInCluster

ACCOUNT = {"kind": "ServiceAccount", "name": "ratoon", "namespace": NAMESPACE}
# Required by admission plugins, OwnerReferencesPermissionEnforcement and OpenShift's RestrictedEndpointsAdmission, and never
# called.
NOT_CALLED = {("ratoon.dev", "trainingjobs/finalizers", "update"), ("discovery.k8s.io", "endpointslices/restricted", "create")}
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ELSEWHERE = "elsewhere"


def right_of(call):
    """The namespace, empty for none or all of them, and what the call does there."""
    what = call["objectRef"]
    resource = "/".join(filter(None, (what["resource"], what.get("subresource"))))
    return what.get("namespace", ""), (what.get("apiGroup", ""), resource, call["verb"])


class Rights(unittest.TestCase):
    def start(self, *values):
        self.cluster = StandInCluster(self, *values)
        # Its options are of a file; where flags say otherwise, they win.
        config = self.cluster.folder / "operator.yaml"
        config.write_text(json.dumps({"apiVersion": "operator.ratoon.dev/v1alpha1", "kind": "OperatorConfig",
                                      "metricsPort": 1, "leaderElection": {"enabled": True, "leaseName": "another"}}))
        deployment = self.cluster.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/ratoon")
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        (watched,) = [word for word in container["args"] if "namespace" in word]
        self.operator = Operator(self, self.cluster, "one", 1, watched, f"--config={config}")
        # On a busy machine a leader may lose its lease, and ends. It is started again, with the same token.
        self.operator.keep_running()

    def granted(self):
        """By the namespace of the binding, empty for all of them."""
        found = set()
        for kind in ("rolebindings", "clusterrolebindings"):
            for binding in self.cluster.get(f"{RBAC}/{kind}")["items"]:
                if ACCOUNT not in binding.get("subjects", []):
                    continue
                place, role = binding["metadata"].get("namespace", ""), binding["roleRef"]
                path = "clusterroles" if role["kind"] == "ClusterRole" else f"namespaces/{place}/roles"
                for rule in self.cluster.get(f"{RBAC}/{path}/{role['name']}")["rules"]:
                    found |= {(place, (group, resource, verb)) for group in rule["apiGroups"] for resource in rule["resources"]
                              for verb in rule["verbs"]}
        return {right for right in found if right[1] not in NOT_CALLED}

    def used(self):
        return {right_of(call) for call in self.operator.calls()}

    def use_all(self, find_unused):
        # A job that loses a member, ends, and is deleted when its time is up.
        self.cluster.start_job("ends", steps=400, ttlSecondsAfterFinished=1, disruptionPolicy={"suspectAfterSeconds": 6})
        self.cluster.wait_for("ends", "steps", lambda status: status.get("progress", {}).get("step", 0) > 0)
        self.cluster.kubelet.process_of("ends-worker-0-i0").send_signal(signal.SIGSTOP)
        # One whose pods' names are taken: refused again and again, which is counted in one event.
        for index in (0, 1):
            self.cluster.post(PODS, {"metadata": {"name": f"taken-worker-{index}-i0"}, "spec": {
                "containers": [{"name": "trainer", "image": "example.org/counter:1", "command": ["true"], "env": []}]}})
        self.cluster.start_job("taken", steps=10)
        # A job that is created again, with a pod of the deleted job left behind.
        self.cluster.post(PODS, {"metadata": {"name": "again-worker-0-i0", "ownerReferences": [
            {"apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob", "name": "again", "uid": str(uuid.uuid4()),
             "controller": True}]}, "spec": {
                "containers": [{"name": "trainer", "image": "example.org/counter:1", "command": ["true"], "env": []}]}})
        self.cluster.start_job("again", steps=10)
        self.cluster.patch(SLICE, {"endpoints": []})  # by somebody's mistake
        self.cluster.patch(CERTIFICATE, {"data": {"tls.key": "YQ=="}})  # and this one
        deadline = time.monotonic() + 180
        while (unused := find_unused()) and time.monotonic() < deadline:
            time.sleep(0.2)
        self.assertEqual(unused, set(), self.cluster.logs())
        wait_until(self.operator.is_leading, "it to lead")
        wait_until(self.operator.is_ready, "it to be ready")
        refused = [call for call in self.operator.calls() if call["responseStatus"]["code"] in (401, 403)]
        self.assertEqual(refused, [])

    def test_every_right_is_used_and_no_other_one_is_asked_for(self):
        self.start()
        granted = {right for _, right in self.granted()}
        self.use_all(lambda: granted - {right for _, right in self.used()})
        self.assertEqual({right for _, right in self.used()} - granted, set())

    def test_one_namespace_is_all_that_its_operator_needs_and_another_is_left_alone(self):
        self.start(f"--set=watchNamespace={JOBS.split('/')[-2]}")
        path = JOBS.replace("default", ELSEWHERE)
        self.cluster.post("/api/v1/namespaces", {"metadata": {"name": ELSEWHERE}})
        self.cluster.start_job("other", steps=10, path=path)
        granted = self.granted()
        self.use_all(lambda: granted - self.used())
        self.assertEqual(self.used() - granted, set())
        self.assertNotIn("status", self.cluster.get(f"{path}/other"))
        self.assertNotIn(f'namespace="{ELSEWHERE}"', self.operator.page("/metrics"))


if __name__ == "__main__":
    if missing := missing_programs("helm", "kubectl"):
        print(f"SKIPPED: {', '.join(missing)} not found; scripts/setup --only test builds them (needs Go 1.25)")
        sys.exit(77)
    unittest.main()
