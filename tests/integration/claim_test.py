"""Jobs that the operator does not serve as they are, on a real API server: the claim of one cannot be shared, and it makes no
pods until the claim is replaced; of another's template the server makes none, or it has a field that no pod has; a quota has no
room for a replacement yet."""

import datetime
import re
import sys
import time
import unittest
import urllib.error

from api_server import missing_programs
from local_run import wait_until
from stand_in_cluster import JOBS, PODS, Operator, StandInCluster

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


def claim(name, *modes):
    return {"metadata": {"name": name}, "spec": {"accessModes": list(modes), "storageClassName": "",
                                                 "resources": {"requests": {"storage": "1Gi"}}}}


def condition(status, kind="InvalidSpec"):
    return next((c for c in status.get("conditions", []) if c["type"] == kind), {})


class Claims(unittest.TestCase):
    def setUp(self):
        self.cluster = StandInCluster(self)
        self.operator = Operator(self, self.cluster, "one", 1)

    def expect_pods(self, name, count):
        wait_until(lambda: len(self.cluster.pods(name)) == count, f"the pods of {name}", 180)

    def test_a_claim_of_one_node_is_told_and_replacing_it_mends_the_job(self):
        self.cluster.post(CLAIMS, claim("j", "ReadWriteOnce"))
        self.cluster.start_job("j", steps=10_000_000)
        status = self.cluster.wait_for("j", "a word about the claim", lambda status: condition(status).get("status") == "True")
        told = condition(status)
        self.assertEqual(told["reason"], "ClaimNotShared")
        self.assertIn("the claim j, whose access modes are ReadWriteOnce:", told["message"])
        self.assertEqual(self.cluster.pods("j"), [])
        wait_until(lambda: [event for event in self.cluster.get(EVENTS)["items"]
                            if event["reason"] == "InvalidSpec" and event["type"] == "Warning"], "an event")
        self.cluster.server.request("DELETE", f"{CLAIMS}/j")
        if self.cluster.get(CLAIMS)["items"]:  # no controller is there to let it go
            self.cluster.patch(f"{CLAIMS}/j", {"metadata": {"finalizers": None}})
        wait_until(lambda: not self.cluster.get(CLAIMS)["items"], "the claim is gone")
        self.cluster.post(CLAIMS, claim("j", "ReadWriteMany"))
        self.expect_pods("j", 2)
        mended = condition(self.cluster.wait_for("j", "its end", lambda status: condition(status)["status"] == "False"))
        self.assertEqual((mended["reason"], mended["message"]), ("Mended", ""))

    def test_who_can_share_it_or_is_alone_or_has_none_yet_gets_its_pods(self):
        self.cluster.post(CLAIMS, claim("many", "ReadWriteOnce", "ReadWriteMany"))
        self.cluster.post(CLAIMS, claim("alone", "ReadWriteOnce"))
        self.cluster.start_job("many", steps=10_000_000)
        self.cluster.start_job("alone", steps=10_000_000, numNodes=1)
        self.cluster.start_job("none", steps=10_000_000)
        for name, count in (("many", 2), ("alone", 1), ("none", 2)):
            self.expect_pods(name, count)
            self.assertEqual(condition(self.cluster.status(name)), {})

    def test_a_template_that_the_server_refuses_is_told_and_mending_it_gives_pods(self):
        trainer = {"name": "trainer", "image": "example.org/counter:1", "command": ["counter", "--steps", "10000000"]}

        def roles(*mounts):
            containers = [{**trainer, "volumeMounts": [{"name": name, "mountPath": f"/{name}"} for name in mounts]}]
            return [{"name": "worker", "template": {"spec": {"containers": containers}}}]

        self.cluster.start_job("bad", steps=0, roles=roles("nowhere"))
        told = condition(self.cluster.wait_for("bad", "a word about the template",
                                               lambda status: condition(status).get("status") == "True"))
        self.assertEqual(told["reason"], "TemplateRefused")
        self.assertIn('volumeMounts[0].name: Not found: "nowhere"', told["message"])
        self.cluster.patch(f"{JOBS}/bad", {"spec": {"suspend": True}})
        self.cluster.wait_for("bad", "its rest", lambda status: status["phase"] == "Suspended")
        self.assertEqual(condition(self.cluster.status("bad"))["status"], "True", "nobody has asked for a pod since")
        self.cluster.patch(f"{JOBS}/bad", {"spec": {"suspend": False, "roles": roles()}})
        self.expect_pods("bad", 2)
        mended = condition(self.cluster.wait_for("bad", "its end", lambda status: condition(status)["status"] == "False"))
        self.assertEqual((mended["reason"], mended["message"]), ("Mended", ""))
        self.assertGreater(self.metric("ratoon_reconcile_retries_total"), 0, "each refusal was tried again")

    def set_quota(self, used):
        """As the controller of quotas does, which is not here; the API server itself counts what it lets in."""
        self.cluster.patch(f"{QUOTAS}/two/status", {"status": {"hard": {"pods": "2"}, "used": {"pods": str(used)}}})

    def creations(self, name):
        """When they were asked for, and the answers."""
        return [(datetime.datetime.fromisoformat(call["requestReceivedTimestamp"]), call["responseStatus"]["code"])
                for call in self.operator.calls() if call["verb"] == "create" and call["objectRef"]["resource"] == "pods"
                and call["objectRef"].get("name") == name]

    def status_writes(self):
        return sum(call["verb"] == "patch" and call["objectRef"].get("subresource") == "status" for call in self.operator.calls())

    def test_a_definition_older_than_the_operator_is_told_once_and_its_jobs_are_left_in_peace(self):
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/trainingjobs.ratoon.dev"
        version = self.cluster.get(path)["spec"]["versions"][0]
        schema = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
        del schema["ledger"], schema["members"]["items"]["properties"]["node"]
        self.cluster.patch(path, {"spec": {"versions": [version]}})

        def is_started():
            try:
                self.cluster.start_job("j", steps=10_000_000, pause_ms=100,
                                       checkpointPolicy={"volumeClaimName": "j", "intervalSteps": 1000})
                return True
            except urllib.error.HTTPError as error:
                self.assertEqual(error.code, 503)  # while the server takes the definition up
                return False

        wait_until(is_started, "the server to take the definition up")
        self.cluster.wait_for("j", "a step", lambda status: status.get("progress", {}).get("step", 0) > 0)
        self.assertNotIn("ledger", self.cluster.status("j"))
        writes, began = self.status_writes(), time.monotonic()
        step = self.cluster.step("j")
        wait_until(lambda: self.cluster.step("j") >= step + 60, "its training")  # six seconds and more
        self.assertLess(self.status_writes() - writes, time.monotonic() - began, "not one a second")
        for field in ("status.ledger", "status.members[].node"):
            self.assertEqual(self.operator.said().count(field), 1)

    def test_a_job_made_again_does_not_wait_for_pods_that_hang(self):
        self.cluster.start_job("j", steps=10_000_000)
        self.expect_pods("j", 2)
        for pod in ("j-worker-0-i0", "j-worker-1-i0"):
            self.cluster.patch(f"{PODS}/{pod}", {"metadata": {"finalizers": ["example.org/stays"]}})
        self.cluster.server.request("DELETE", f"{JOBS}/j")
        # The garbage collector, which is not here, has deleted one of the pods; the other one was orphaned.
        self.cluster.server.request("DELETE", f"{PODS}/j-worker-0-i0", {"gracePeriodSeconds": 1})
        self.cluster.start_job("j", steps=10_000_000)
        status = self.cluster.wait_for("j", "a step", lambda status: status.get("progress", {}).get("step", 0) > 0)
        self.assertEqual({member["incarnation"] for member in status["members"]}, {1})
        self.assertEqual(sum(status.get("restarts", {}).values()), 0)
        self.assertIn("deletionTimestamp", self.cluster.get(f"{PODS}/j-worker-1-i0")["metadata"], "the operator deletes it")

    def test_a_replacement_waits_for_the_quota_that_its_predecessor_still_takes(self):
        self.cluster.post(QUOTAS, {"metadata": {"name": "two"}, "spec": {"hard": {"pods": "2"}}})
        self.set_quota(0)
        self.cluster.start_job("j", steps=10_000_000)
        self.cluster.wait_for("j", "a step", lambda status: status.get("progress", {}).get("step", 0) > 0)
        old, new = "j-worker-0-i0", "j-worker-0-i1"
        self.cluster.patch(f"{PODS}/{old}", {"metadata": {"finalizers": ["example.org/stays"]}})
        self.cluster.server.request("DELETE", f"{PODS}/{old}", {"gracePeriodSeconds": 1})
        status = self.cluster.wait_for("j", "a word about the quota",
                                       lambda status: condition(status, "Scheduled").get("reason") == "PodRefused")
        self.assertIn("exceeded quota: two", condition(status, "Scheduled")["message"])
        self.assertNotEqual(condition(status).get("status"), "True")
        wait_until(lambda: [event for event in self.cluster.get(EVENTS)["items"]
                            if event["reason"] == "PodRefused" and "exceeded quota: two" in event["note"]], "an event")
        wait_until(lambda: len(self.creations(new)) >= 9, "refusals", 180)
        times, answers = zip(*self.creations(new))
        self.assertEqual(set(answers), {403})
        # Pauses double from 0.1 s on, counted from before the call. The first call may have been on its way for long.
        for number, time_of_call in enumerate(times):
            self.assertGreater((time_of_call - times[0]).total_seconds(), 0.1 * (2**number - 1) - 2, times)
        next_pause = 0.1 * 2**(len(times) - 1)
        self.cluster.patch(f"{PODS}/{old}", {"metadata": {"finalizers": None}})
        wait_until(lambda: not [pod for pod in self.cluster.get(PODS)["items"] if pod["metadata"]["name"] == old], "its end")
        self.set_quota(1)
        wait_until(lambda: self.creations(new)[-1][1] == 201, "the replacement")
        self.assertLess((self.creations(new)[-1][0] - times[-1]).total_seconds(), next_pause - 2, "it did not wait for the pause")
        self.cluster.wait_for("j", "its world", lambda status: condition(status, "Running").get("status") == "True"
                              and condition(status, "Scheduled").get("status") == "True")

    def metric(self, name):
        return float(re.search(rf"^{name} (\S+)$", self.operator.page("/metrics"), re.M)[1])

    def test_what_follows_a_notice_is_timed(self):
        self.cluster.start_job("j", steps=10_000_000)
        self.expect_pods("j", 2)
        self.cluster.wait_for("j", "a step", lambda status: status.get("progress", {}).get("step", 0) > 0)
        before = self.metric("ratoon_notice_to_action_seconds_count")
        name = self.cluster.pods("j")[0]["metadata"]["name"]
        self.cluster.server.request("DELETE", f"{PODS}/{name}")
        wait_until(lambda: self.metric("ratoon_notice_to_action_seconds_count") > before, "the time from notice to action", 180)

    def test_a_field_of_the_template_that_no_pod_has_is_refused_by_name(self):
        container = {"name": "trainer", "image": "a:1", "command": ["a"], "resorces": {"limits": {"nvidia.com/gpu": 1}}}
        self.cluster.start_job("slip", steps=1, roles=[{"name": "worker", "template": {"spec": {"containers": [container]}}}])
        status = self.cluster.wait_for("slip", "a refusal", lambda status: "resorces" in status.get("message", ""))
        self.assertIn('unknown field "spec.containers[0].resorces"', status["message"])
        self.assertEqual(self.cluster.pods("slip"), [])

    def test_a_field_that_no_pod_has_is_refused_too_if_a_suspended_job_gets_it(self):
        self.cluster.start_job("edited", steps=10_000_000)
        self.cluster.wait_for("edited", "a world", lambda status: status.get("phase") == "Running")
        self.cluster.patch(f"{JOBS}/edited", {"spec": {"suspend": True}})
        self.cluster.wait_for("edited", "its rest", lambda status: status["phase"] == "Suspended")
        roles = self.cluster.get(f"{JOBS}/edited")["spec"]["roles"]
        roles[0]["template"]["spec"]["containers"][0]["resorces"] = {"limits": {"nvidia.com/gpu": 1}}
        self.cluster.patch(f"{JOBS}/edited", {"spec": {"roles": roles, "suspend": False}})
        status = self.cluster.wait_for("edited", "a refusal", lambda status: "resorces" in status.get("message", ""))
        self.assertIn('unknown field "spec.containers[0].resorces"', status["message"])
        self.assertEqual(self.cluster.pods("edited"), [])


if __name__ == "__main__":
    if missing := missing_programs("helm", "kubectl"):
        print(f"SKIPPED: {', '.join(missing)} not found; scripts/setup --only test builds them (needs Go 1.25)")
        sys.exit(77)
    unittest.main()
