"""The CRD on a real API server: what it refuses and with which words, what it takes, and what kubectl get tj shows."""

import json
import re
import time
import unittest

import bad_jobs
import programs
from bad_jobs import GOOD, changed

# As the operator writes it, with every field.
STATUS = {
    "phase": "Recovering", "message": "worker-1 was lost with its node", "attempt": 4,
    "formed": True, "worldSize": 6, "observedGeneration": 2, "replicas": 5,
    "selector": "ratoon.dev/job-uid=u,ratoon.dev/role in (worker)",
    "conditions": [{"type": "Recovering", "status": "True", "reason": "MembersMissing", "message": "the job waits for attempt 4",
                    "lastTransitionTime": "2026-11-21T11:38:21.250Z", "observedGeneration": 2}],
    "completionTime": "2026-11-21T11:38:21.250Z",
    "lastFailure": {"member": "good-worker-0-i0", "node": "n2", "time": "2026-11-21T11:38:21.250Z", "attempt": 3,
                    "reason": "crashed with signal 11", "exitCode": 139, "signal": 11, "exception": "no such layer",
                    "lastLines": "step 6\n" * 585},
    "members": [{"role": "worker", "index": 1, "incarnation": 2, "uid": "u1", "node": "n1", "completed": True,
                 "successor": 3, "successorUid": "u2", "nodeEndsAt": "2026-11-21T11:40:21.250Z", "absent": True,
                 "notBefore": "2026-11-21T11:38:21.250Z",
                 "awaitedSince": "2026-11-21T11:38:21.250Z", "done": "ffffffffffffffff"}],
    "trainedMembers": "1",
    "activeSince": "2026-11-21T11:38:21.250Z", "activeSeconds": 60, "formedAt": "2026-11-21T11:38:20.250Z",
    "waitingSince": "2026-11-21T11:38:19.250Z", "suspendingSince": "2026-11-21T11:38:18.250Z",
    "capacityWait": {"since": "2026-11-21T11:38:19.250Z", "releases": 2, "retryAt": "2026-11-21T11:40:19.250Z"},
    "restarts": {"application": 1, "hung": 2, "ignored": 1, "disruption": 3, "withoutStep": 0, "crashesInARow": 1},
    "ledger": {"newestStep": 1300, "newestAttempt": 3, "resumedStep": 1200, "stepsMadeAgain": 34, "usefulSeconds": 60.5,
               "recomputedSeconds": 1.25, "waitingForCapacitySeconds": 2, "restartingSeconds": 7.25, "hungSeconds": 0.5,
               "suspendedSeconds": 3, "part": "recomputed", "since": "2026-11-21T11:38:21.250Z"},
    "progress": {"step": 1234, "time": "2026-11-21T11:38:21.250Z", "position": 79001, "total": 256000, "unit": "sample",
                 "loss": 0.693147, "best": "error 0.25 at step 1200"},
    "lastCheckpoint": {"attempt": 3, "step": 1200, "digest": "0011", "tier": "volume"}, "lineageStart": 2,
    "saveLocation": "/data/good", "operatorImage": "example.org/ratoon-operator:1",
    "finalWeights": "/data/good/weights.safetensors", "finishReason": "the loss no longer falls",
    "openRecovery": {"member": "good-worker-1-i1", "role": "worker", "index": 1, "node": "n0", "reason": "silent",
                     "hung": False, "time": "2026-11-21T11:38:21.250Z", "lastSign": "2026-11-21T11:38:18.250Z",
                     "lostSteps": 34},
    "lastDisruption": {
        "member": "good-worker-1-i1", "node": "n0", "reason": "silent", "time": "2026-11-21T11:38:21.250Z", "lostSteps": 34,
        "totalSeconds": 7.25, "phases": {"detectSeconds": 3.5, "decideSeconds": 0, "placeSeconds": 0.25, "startSeconds": 2,
                                         "rendezvousSeconds": 0.5, "loadSeconds": 0.5, "firstStepSeconds": 0.5}},
    "rejection": "n1: its kubelet did not start it: OutOfcpu: Node didn't have enough resource: cpu",
    "failedNodes": [{"name": "n1", "failures": 2, "time": "2026-11-21T11:43:21.250Z"}],
    "suspectNodes": [{"unreachable": True, "name": "n0", "reason": "lost a member", "until": "2026-11-21T11:43:21.250Z"}],
}


class CrdOnAServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = programs.Cluster(cls)
        cls.cluster.install_crd()

    def expect_refused(self, title, job, sentence):
        with self.subTest(title):
            done = self.cluster.kubectl("apply", "--filename=-", document=job)
            self.assertNotEqual(done.returncode, 0, f"{title} was taken")
            self.assertIn(sentence, done.stderr)
            return done.stderr

    def create(self, job, status=None):
        name = job["metadata"]["name"]
        self.cluster.must("apply", "--filename=-", document=job)
        self.addCleanup(self.cluster.must, "delete", "tj", name)
        if status is not None:
            self.cluster.must("patch", "tj", name, "--subresource=status", "--type=merge",
                              f"--patch={json.dumps({'status': status})}")

    def tell_phase(self, name, phase):
        self.cluster.must("patch", "tj", name, "--subresource=status", "--type=merge",
                          f"--patch={json.dumps({'status': {**STATUS, 'phase': phase}})}")

    def test_the_status_that_is_stored_here_has_every_field(self):
        def missing(schema, value, path):
            for name, child in schema.get("properties", {}).items():
                if name not in value:
                    yield f"{path}.{name}"
                elif "items" in child:
                    yield from missing(child["items"], value[name][0], f"{path}.{name}[]")
                else:
                    yield from missing(child, value[name], f"{path}.{name}")

        (crd,) = programs.read_yaml(programs.CRD.read_text())
        self.assertEqual(list(missing(programs.job_schema(crd)["properties"]["status"], STATUS, "status")), [])

    def test_bad_jobs_are_refused_and_every_sentence_is_met(self):
        self.create(GOOD)
        heard = ""
        for title, changes, sentence in bad_jobs.OURS:
            heard += self.expect_refused(title, changed(("metadata.name", "bad"), *changes), sentence) or ""
        for title, changes, sentence in bad_jobs.CHANGES:
            heard += self.expect_refused(title, changed(*changes), sentence) or ""
        self.assertGreaterEqual(len(bad_jobs.OURS) + len(bad_jobs.CHANGES), 60)
        self.cluster.must("apply", "--filename=-", document=changed(("spec.suspend", True)))
        self.tell_phase("good", "Running")
        heard += self.expect_refused("a resume before it has saved", GOOD, "wait for its condition Suspended") or ""
        (crd,) = programs.read_yaml(programs.CRD.read_text())
        sentences = set(re.findall(r'"message": "((?:[^"\\]|\\.)*)"', json.dumps(programs.job_schema(crd))))
        self.assertEqual([s for s in sorted(sentences) if s not in heard], [], "no bad job of this test meets them")

    def test_what_the_platform_refuses_names_field_and_bound(self):
        for title, changes, sentence in bad_jobs.PLATFORM:
            self.expect_refused(title, changed(("metadata.name", "bad"), *changes), sentence)

    def test_an_unknown_field_is_refused_by_name(self):
        done = self.cluster.kubectl("create", "--validate=strict", "--filename=-",
                                    document=changed(("spec.numNode", 2)))
        self.assertIn('unknown field "spec.numNode"', done.stderr)

    def test_policies_of_a_running_job_can_be_changed(self):
        self.create(GOOD)
        self.cluster.must("apply", "--filename=-", document=changed(
            ("spec.restartPolicy.maxRestarts", 5), ("spec.checkpointPolicy.graceSeconds", 20),
            ("spec.checkpointPolicy.keepLast", 5), ("spec.disruptionPolicy.suspectAfterSeconds", 9)))
        spec = json.loads(self.cluster.must("get", "tj", "good", "--output=json"))["spec"]
        self.assertEqual((spec["restartPolicy"]["maxRestarts"], spec["checkpointPolicy"]["graceSeconds"]), (5, 20))

    def test_what_is_kept_and_how_long_is_taken(self):
        for number, kept in enumerate((0, 2, 1000, "All")):
            name = f"kept-{number}"
            self.create(changed(("metadata.name", name), ("spec.maxDuration", "1h30m"), ("spec.checkpointPolicy.keepLast", kept),
                                ("spec.checkpointPolicy.stores", ["s3://runs"]), ("spec.checkpointPolicy.s3", {
                                    "endpoint": "https://minio:9000/s3", "region": "eu-central-1"})))
            stored = json.loads(self.cluster.must("get", "tj", name, "--output=json"))["spec"]
            self.assertEqual(stored["checkpointPolicy"]["keepLast"], kept)

    def test_sizes_and_roles_of_a_suspended_job_can_be_changed(self):
        self.create(changed(("metadata.name", "paused")))
        self.cluster.must("apply", "--filename=-", document=changed(
            ("metadata.name", "paused"), ("spec.suspend", True), ("spec.numNodes", 3), (f"{bad_jobs.TRAINER}.image", "digits:2"),
            ("spec.dataPolicy", {"seed": 2**53 - 1, "globalBatchSize": 2**28})))
        spec = json.loads(self.cluster.must("get", "tj", "paused", "--output=json"))["spec"]
        self.assertEqual((spec["suspend"], spec["numNodes"]), (True, 3))
        self.assertEqual(spec["dataPolicy"], {"seed": 2**53 - 1, "globalBatchSize": 2**28}, "to the last digit")

    def test_a_resume_may_bring_another_size_image_and_selector(self):
        # As a queue does it: the job is made suspended, and gets its place with its turn.
        for number, phase in enumerate((None, "Suspended")):
            name = ("metadata.name", f"queued-{number}")
            self.create(changed(name, ("spec.suspend", True)))
            if phase:
                self.tell_phase(name[1], phase)
            self.cluster.must("apply", "--filename=-", document=changed(
                name, ("spec.suspend", False), ("spec.numNodes", 3), (f"{bad_jobs.TRAINER}.image", "digits:2"),
                (f"{bad_jobs.POD}.nodeSelector.disk", "slow"), ("spec.processesPerNode", 1), ("spec.maxDuration", "90ep"),
                ("spec.elasticPolicy", {"minReplicas": 1, "maxReplicas": 3}), ("spec.checkpointPolicy.intervalSteps", 20),
                ("spec.checkpointPolicy.stores", ["s3://other/runs"]), ("spec.dataPolicy", {"seed": 18, "globalBatchSize": 64}),
                ("spec.checkpointPolicy.s3", {"endpoint": "https://b", "region": "us-east-1"})))
            spec = json.loads(self.cluster.must("get", "tj", name[1], "--output=json"))["spec"]
            self.assertEqual((spec["suspend"], spec["numNodes"]), (False, 3))

    def test_kubectl_scales_a_suspended_job_and_no_other(self):
        self.create(changed(("metadata.name", "scaled")), STATUS)
        done = self.cluster.kubectl("scale", "tj/scaled", "--replicas=3")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("numNodes cannot be changed while members run: set suspend to true", done.stderr)
        self.cluster.must("patch", "tj", "scaled", "--type=merge", "--patch", json.dumps({"spec": {"suspend": True}}))
        self.cluster.must("scale", "tj/scaled", "--current-replicas=2", "--replicas=3")
        self.assertEqual(json.loads(self.cluster.must("get", "tj", "scaled", "--output=json"))["spec"]["numNodes"], 3)
        scale = json.loads(self.cluster.must("get", "tj", "scaled", "--subresource=scale", "--output=json"))
        self.assertEqual((scale["spec"]["replicas"], scale["status"]["replicas"]), (3, STATUS["replicas"]))
        # What autoscalers find its pods by: the server hands it on as it was written.
        self.assertEqual(scale["status"]["selector"], STATUS["selector"])
        self.cluster.must("get", "pods", f"--selector={STATUS['selector']}")

    def test_kubectl_waits_for_conditions(self):
        self.create(changed(("metadata.name", "waited")), STATUS)
        self.cluster.must("wait", "tj/waited", "--for=condition=Recovering", "--timeout=180s")

    def test_kubectl_explains_every_field(self):
        def explain(*words):
            done = self.cluster.kubectl("explain", *words)
            return done.stdout if done.returncode == 0 else ""

        deadline = time.monotonic() + 180
        while not explain("tj"):  # the server publishes a new definition's schema a moment after it takes it
            self.assertLess(time.monotonic(), deadline, "kubectl explain knows no TrainingJob")
            time.sleep(0.2)
        (crd,) = programs.read_yaml(programs.CRD.read_text())
        spec = programs.job_schema(crd)["properties"]["spec"]["properties"]
        told = explain("tj.spec", "--recursive")
        self.assertEqual([name for name in spec if f"  {name}\t<" not in told], [])
        field = explain("trainingjobs.spec.elasticPolicy.shrinkAfterSeconds")
        self.assertIn("VERSION:    v1alpha1", field)
        sentence = spec["elasticPolicy"]["properties"]["shrinkAfterSeconds"]["description"]
        self.assertIn("".join(sentence.split()), "".join(field.split()), "kubectl breaks its lines")

    def test_defaults_are_written_out(self):
        template = GOOD["spec"]["roles"][0]["template"]
        self.create({**GOOD, "metadata": {"name": "least"}, "spec": {"roles": [{"name": "worker", "template": template}]}})
        spec = json.loads(self.cluster.must("get", "tj", "least", "--output=json"))["spec"]
        self.assertEqual(spec.pop("roles")[0]["template"], template)
        self.assertEqual(spec, {
            "numNodes": 1, "processesPerNode": 1, "suspend": False, "maxDurationSeconds": 0,
            "startDeadlineSeconds": 600, "progressDeadlineSeconds": 0, "cleanPodPolicy": "Running",
            "restartPolicy": {"maxRestarts": 10, "backoffSeconds": 1, "backoffMaxSeconds": 300},
            "checkpointPolicy": {"overwrite": False},
            "disruptionPolicy": {"heartbeatSeconds": 1, "suspectAfterSeconds": 3, "avoidNodeSeconds": 300}})

    def test_samples_are_taken(self):
        for path in programs.SAMPLES:
            with self.subTest(path.name):
                done = self.cluster.kubectl("apply", "--validate=strict", "--dry-run=server", f"--filename={path}")
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_each_policy_of_the_docs_is_taken(self):
        text = (programs.ROOT / "docs" / "operate" / "policies.md").read_text()
        pieces = re.findall(r"^```yaml\n(.*?)^```$", text, re.M | re.S)
        (minimal,) = programs.read_yaml((programs.ROOT / "crds" / "samples" / "minimal.yaml").read_text())
        self.assertGreaterEqual(len(pieces), 14)
        self.assertEqual(len(pieces), text.count("```yaml"), "none is passed over")
        for number, piece in enumerate(pieces):
            with self.subTest(piece):
                (job,) = programs.read_yaml("apiVersion: ratoon.dev/v1alpha1\nkind: TrainingJob\n" + piece)
                job["metadata"] = {"name": f"policy-{number}"}
                job["spec"] = {**minimal["spec"], **job["spec"]}
                done = self.cluster.kubectl("apply", "--validate=strict", "--filename=-", document=job)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.cluster.must("delete", "tj", job["metadata"]["name"])

    def test_a_status_comes_back_whole(self):
        self.create(changed(("metadata.name", "whole")), STATUS)
        self.assertEqual(json.loads(self.cluster.must("get", "tj", "whole", "--output=json"))["status"], STATUS)

    def test_the_biggest_job_is_within_the_servers_limits(self):
        def container(number):
            return {"name": f"c{number}", "image": "digits:1", "command": ["digits"] * 16,
                    "env": [{"name": f"VARIABLE_{n}", "value": "v" * 20} for n in range(64)]}

        template = {"spec": {"containers": [container(number) for number in range(12)]}}
        roles = [{"name": f"role{n}", "replicas": 512, "template": template} for n in range(8)]
        taints = [f"{'a' * 240}.com/{'b' * 60}{n}" for n in range(32)]
        big = changed(("metadata.name", "b" * 40), ("spec.roles", roles), ("spec.disruptionPolicy.noticeTaints", taints))
        path = "/apis/ratoon.dev/v1alpha1/namespaces/default/trainingjobs"
        stored = json.loads(self.cluster.server.request("POST", path, big))
        self.addCleanup(self.cluster.must, "delete", "tj", "b" * 40)
        stored["spec"]["restartPolicy"]["maxRestarts"] = 4
        stored = json.loads(self.cluster.server.request("PUT", f"{path}/{'b' * 40}", stored))
        # All that can be said of one member at once: who is done is not awaited, and who has no pod has no UID.
        member = {**STATUS["members"][0], "uid": "0" * 36, "successorUid": "0" * 36, "node": "n" * 40}
        for never_beside in ("completed", "absent", "notBefore", "done"):
            del member[never_beside]
        stored["status"] = {**STATUS, "members": [{**member, "role": f"role{n // 512}", "index": n % 512} for n in range(4096)]}
        stored = json.loads(self.cluster.server.request("PUT", f"{path}/{'b' * 40}/status", stored))
        self.assertEqual(len(stored["status"]["members"]), 4096)

    def test_columns(self):
        self.create(changed(("metadata.name", "told")), STATUS)
        head, row = self.cluster.must("get", "tj", "told").splitlines()
        self.assertEqual(head.split(), "NAME PHASE ATTEMPT WORLD STEP DURABLE LOST FAILURES RECOVERY AGE".split())
        self.assertEqual(row.split()[:-1], "told Recovering 4 6 1234 1200 3 1 7.25".split())
        wide = self.cluster.must("get", "ratoon", "--output=wide")
        self.assertIn("MESSAGE", wide)
        self.assertIn("STEP POSITION OF LOSS DURABLE", " ".join(wide.split()))
        self.assertIn(" 1234 79001 256000 0.693147 1200 ", " ".join(wide.split()))
        self.assertIn(STATUS["message"], wide)
        self.assertIn(STATUS["lastFailure"]["reason"], wide)

    def test_a_status_cannot_be_written_as_a_part_of_the_job(self):
        self.create({**changed(("metadata.name", "forged")), "status": {"phase": "Succeeded"}})
        self.assertNotIn("status", json.loads(self.cluster.must("get", "tj", "forged", "--output=json")))


if __name__ == "__main__":
    programs.main("kubectl", with_server=True)
