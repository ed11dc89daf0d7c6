"""operator/runtime's Cluster against a real kube-apiserver with the CRD: what it reads, writes and refuses."""

import base64
import json
import os
import pathlib
import subprocess
import sys
import time
import unittest
import urllib.error

from api_server import ApiServer, missing_programs, retry

PROBE = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin" / "cluster_probe"
CRD = pathlib.Path(__file__).parents[2] / "crds" / "trainingjob.yaml"
JOBS = "/apis/ratoon.dev/v1alpha1/namespaces/default/trainingjobs"
PODS = "/api/v1/namespaces/default/pods"


def job(name, **spec):
    container = {"name": "trainer", "image": "example.org/train:1", "command": ["train"],
                 "env": [{"name": "RATOON_KEEP_LAST", "value": "9"}]}
    return {"apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": name},
            "spec": {"numNodes": 2, "checkpointPolicy": {"volumeClaimName": "ckpt"},
                     "roles": [{"name": "worker", "template": {"spec": {"containers": [container]}}}], **spec}}


class Probe:
    def __init__(self, kubeconfig):
        self.process = subprocess.Popen([PROBE, kubeconfig], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, *words):
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def until(self, is_true, *words, seconds=180):
        deadline = time.monotonic() + seconds
        while not is_true(answer := self.ask(*words)):
            assert time.monotonic() < deadline, f"{words} still says {answer}"
            time.sleep(0.02)
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=180)  # watches and patience are longer
        self.process.stdout.close()
        return self.process.returncode


class RealCluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ApiServer()
        cls.addClassCleanup(cls.server.close)
        cls.server.start()
        cls.kubeconfig = cls.write_kubeconfig()
        subprocess.run(["kubectl", f"--kubeconfig={cls.kubeconfig}", "create", "-f", CRD], check=True, capture_output=True)
        retry(lambda: cls.server.request("GET", JOBS))
        retry(lambda: cls.server.request("POST", "/api/v1/namespaces/default/serviceaccounts",
                                         {"metadata": {"name": "default"}}))

    @classmethod
    def write_kubeconfig(cls):
        def data(name):
            return base64.b64encode((cls.server.folder / name).read_bytes()).decode()

        path = cls.server.folder / "kubeconfig"
        path.write_text(json.dumps({
            "current-context": "test", "contexts": [{"name": "test", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": cls.server.url,
                                                   "certificate-authority-data": data("ca.pem")}}],
            "users": [{"name": "u", "user": {"client-certificate": "client.pem", "client-key": "client.key"}}]}))
        return path

    def setUp(self):
        self.probe = Probe(self.kubeconfig)
        self.addCleanup(self.end_probe)
        self.assertTrue(self.probe.ask("wait-synced"))

    def end_probe(self):
        self.assertEqual(self.probe.close(), 0)

    def make(self, name, **spec):
        made = json.loads(self.server.request("POST", JOBS, job(name, **spec)))
        return self.probe.until(lambda v: "uid" in v, "view", name) | {"object": made}

    def get(self, path):
        return json.loads(self.server.request("GET", path))

    def settled_news(self, name):
        """How many news of the job there were, once none comes for a while: they are told after the view has changed."""
        seen = []
        self.probe.until(lambda now: seen.append(now) or len(seen) > 10 and len(set(seen[-10:])) == 1, "news", name)
        return seen[-1]

    def test_a_job_is_seen_and_its_deletion_too(self):
        seen = self.make("seen")
        self.assertEqual(seen["uid"], seen["object"]["metadata"]["uid"])
        self.assertTrue(self.probe.ask("fresh"))
        self.server.request("DELETE", JOBS + "/seen")
        self.probe.until(lambda v: v == {"gone": True}, "view", "seen")

    def test_a_pod_is_made_once_and_is_in_the_next_view(self):
        self.make("pods")
        for _ in range(2):  # the second finds the first
            self.assertEqual(self.probe.ask("create", "pods", 0, "bad-node"), {"ok": True})
            (pod,) = self.probe.ask("view", "pods")["pods"]
        made = self.get(f"{PODS}/{pod['name']}")
        self.assertEqual(made["metadata"]["uid"], pod["uid"])
        env = {v["name"]: v.get("value") for v in made["spec"]["containers"][0]["env"]}
        self.assertEqual(env["RATOON_INDEX"], "0")
        self.assertEqual(env["RATOON_KEEP_LAST"], "9", "the user's")
        self.assertEqual(env["RATOON_SAVE_FOLDER"], "/ratoon/checkpoints")
        (term,) = made["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        self.assertEqual(term["labelSelector"]["matchLabels"]["ratoon.dev/index"], "7")
        self.assertEqual(made["metadata"]["annotations"]["ratoon.dev/avoided-nodes"], "bad-node")
        self.assertEqual({t["tolerationSeconds"] for t in made["spec"]["tolerations"]}, {20})
        self.assertFalse(made["spec"]["automountServiceAccountToken"])

    def test_a_foreign_pod_of_that_name_is_an_error(self):
        self.make("foreign")
        self.server.request("POST", PODS, {"metadata": {"name": "foreign-worker-0-i0"},
                                           "spec": {"containers": [{"name": "x", "image": "x"}]}})
        self.assertEqual(self.probe.ask("create", "foreign", 0)["error"], "already_exists")

    def test_only_the_pod_of_that_uid_is_deleted(self):
        self.make("uids")
        self.probe.ask("create", "uids", 1)
        (pod,) = self.probe.ask("view", "uids")["pods"]
        self.assertEqual(self.probe.ask("delete", "uids", pod["name"], "another"), {"ok": True})
        self.assertEqual(self.get(f"{PODS}/{pod['name']}")["metadata"]["uid"], pod["uid"])
        self.assertEqual(self.probe.ask("delete", "uids", pod["name"], pod["uid"]), {"ok": True})
        self.probe.until(lambda v: all(p["deleting"] for p in v["pods"]), "view", "uids")
        with self.assertRaises(urllib.error.HTTPError):
            self.get(f"{PODS}/{pod['name']}")
        self.probe.until(lambda v: v["pods"] == [], "view", "uids")
        self.assertEqual(self.probe.ask("delete", "uids", pod["name"], pod["uid"]), {"ok": True}, "gone is fine")

    def test_a_pod_that_changed_since_it_was_seen_is_looked_at_again_before_it_goes(self):
        self.make("changed")
        self.probe.ask("create", "changed", 0)
        (pod,) = self.probe.ask("view", "changed")["pods"]
        self.probe.ask("keep", "changed")
        status = {"status": {"phase": "Succeeded"}}
        self.server.request("PATCH", f"{PODS}/{pod['name']}/status", status, "application/merge-patch+json")
        self.assertEqual(self.probe.ask("delete-kept", pod["name"], pod["uid"])["error"], "conflict")
        self.assertEqual(self.get(f"{PODS}/{pod['name']}")["status"]["phase"], "Succeeded", "it is there, and done")
        (now,) = self.probe.ask("view", "changed")["pods"]
        self.assertNotEqual(now["phase"], pod["phase"], "the next decision sees it, whatever the watch says")
        self.assertEqual(self.probe.ask("delete", "changed", pod["name"], pod["uid"]), {"ok": True})

    def test_a_status_is_read_back_at_once_and_a_stale_one_refused(self):
        self.make("status")
        self.probe.ask("keep", "status")
        for step in (2, 3, 4):
            self.assertEqual(self.probe.ask("write", "status", step), {"ok": True})
            self.assertEqual(self.probe.ask("view", "status")["step"], step)
            status = self.get(JOBS + "/status")["status"]
            self.assertEqual(status["progress"]["step"], step)
            self.assertEqual("lastCheckpoint" in status, step % 2 == 0, "what vanished is removed")
        self.assertEqual(self.probe.ask("write-kept", 1)["error"], "conflict")
        self.assertEqual(self.get(JOBS + "/status")["status"]["progress"]["step"], 4)
        version = self.probe.ask("view", "status")["version"]
        self.assertEqual(self.probe.ask("write", "status", 4), {"ok": True})
        self.assertEqual(self.get(JOBS + "/status")["metadata"]["resourceVersion"], version, "nothing changed")

    def test_a_job_that_cannot_be_served_says_why_and_stops_no_other(self):
        poison = job("poison")
        poison["spec"]["roles"][0]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"memory": "much"}}
        self.server.request("POST", JOBS, poison)
        (broken,) = self.probe.until(lambda jobs: any(found["name"] == "poison" for found in jobs), "broken")
        self.assertIn("memory", broken["why"])
        taken = job("taken")
        taken["spec"]["roles"][0]["template"]["spec"]["volumes"] = [{"name": "ratoon-token", "emptyDir": {}}]
        self.server.request("POST", JOBS, taken)
        self.probe.until(lambda v: "uid" in v, "view", "taken")
        refusal = self.probe.ask("create", "taken", 0)
        self.assertEqual(refusal["error"], "invalid")
        self.assertIn("ratoon-token", refusal["message"])
        self.make("untroubled")
        self.assertEqual(self.probe.ask("create", "untroubled", 0), {"ok": True})

    def test_nodes_under_the_pods_are_seen_and_heartbeats_are_no_news(self):
        self.make("noded")
        self.probe.ask("create", "noded", 0)
        (pod,) = self.probe.ask("view", "noded")["pods"]
        self.server.request("POST", "/api/v1/nodes", {"metadata": {"name": "n1"}})
        self.server.request("POST", f"{PODS}/{pod['name']}/binding", {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod["name"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"}})
        self.probe.until(lambda v: [n["name"] for n in v["nodes"]] == ["n1"], "view", "noded")
        news = self.settled_news("noded")
        node = self.get("/api/v1/nodes/n1")
        node["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
        node = json.loads(self.server.request("PUT", "/api/v1/nodes/n1/status", node))
        node["spec"]["unschedulable"] = True
        self.server.request("PUT", "/api/v1/nodes/n1", node)
        self.probe.until(lambda v: v["nodes"][0]["unschedulable"], "view", "noded")
        self.probe.until(lambda now: now > news, "news", "noded")
        self.assertEqual(self.settled_news("noded"), news + 1, "the cordon alone")

    def test_events_repeat_as_one(self):
        self.make("told")
        for _ in range(3):
            self.probe.ask("event", "told", "Something")
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            events = [e for e in self.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
                      if e["regarding"]["name"] == "told"]
            if events and events[0].get("series", {}).get("count") == 3:
                break
            time.sleep(0.05)
        (event,) = events
        self.assertEqual((event["note"], event["type"], event["series"]["count"]), ("Something", "Warning", 3))

    def test_a_storm_is_a_few_events_and_the_newest_is_told(self):
        self.make("storm")
        for number in range(200):
            self.probe.ask("event", "storm", f"loss-{number}")
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            events = [e for e in self.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
                      if e["regarding"]["name"] == "storm"]
            if any(e.get("series", {}).get("count", 0) >= 15 for e in events):
                break
            time.sleep(0.05)
        singles = {e["note"] for e in events if "series" not in e}
        self.assertEqual(singles, {f"loss-{number}" for number in range(10)})
        (rest,) = [e for e in events if "series" in e]
        self.assertEqual((rest["note"], rest["series"]["count"]), ("(the newest of several) loss-24", 15))

    def test_tokens_of_members_are_told_from_others(self):
        self.make("tokens")
        self.probe.ask("create", "tokens", 0)
        (pod,) = self.probe.ask("view", "tokens")["pods"]

        def token(audience, **spec):
            reply = self.server.request("POST", "/api/v1/namespaces/default/serviceaccounts/default/token",
                                        {"spec": {"audiences": [audience], **spec}})
            return json.loads(reply)["status"]["token"]

        bound = {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": pod["name"], "uid": pod["uid"]}}
        for _ in range(2):
            self.assertEqual(self.probe.ask("token", token("ratoon", **bound)), {
                "namespace": "default", "service_account": "default", "pod": pod["name"], "pod_uid": pod["uid"]})
        for bad in (token("ratoon"), token("https://ratoon.test", **bound), "nonsense"):
            self.assertEqual(self.probe.ask("token", bad)["error"], "permission_denied")

    def test_watches_survive_a_restart_of_the_server(self):
        self.make("before")
        self.server.restart_api_server()
        self.server.request("POST", JOBS, job("after"))
        self.probe.until(lambda v: "uid" in v, "view", "after", seconds=180)
        self.assertIn("uid", self.probe.ask("view", "before"), "nothing was forgotten meanwhile")
        self.probe.until(lambda fresh: fresh, "fresh", seconds=180)


if __name__ == "__main__":
    if missing := missing_programs("kubectl"):
        print(f"SKIPPED: {', '.join(missing)} not found; scripts/setup --only test builds them (needs Go 1.25)")
        sys.exit(77)
    unittest.main()
