"""agent: Launcher on a real API server: the pods that the operator makes, the silent death of one, and the end of the job."""

import json
import unittest
import urllib.error

from launched_cluster import LaunchedCluster
from local_run import wait_until
from stand_in_cluster import JOBS


class LauncherOnCluster(unittest.TestCase):
    def test_a_silent_member_is_replaced_alone_and_the_job_succeeds(self):
        lab = LaunchedCluster(self)
        folder = lab.start("any", 400, 3, held_at=395, restartPolicy={"maxRestarts": 0})
        lab.wait_until_formed("any", 1)
        kept = folder / "kept.json"
        wait_until(lambda: kept.exists() and json.loads(kept.read_text())["step"] >= 5, "steps")
        (pod,) = [pod for pod in lab.cluster.pods("any") if pod["metadata"]["name"] == "any-worker-1-i0"]
        self.assertEqual(pod["spec"]["initContainers"][0]["image"], "ratoon-operator:dev")
        self.assertEqual(pod["spec"]["containers"][0]["command"][:2], ["/ratoon/launcher/ratoon-launcher", "--"])
        lab.freeze("any-worker-1-i0")
        lab.gate.let_pass(400)
        status = lab.cluster.wait_for("any", "the end", lambda s: s.get("phase") in ("Succeeded", "Failed"), 600)
        self.assertEqual(status["phase"], "Succeeded", json.dumps(status, indent=1) + lab.cluster.logs())
        self.assertEqual(status["restarts"]["disruption"], 1, status)
        self.assertEqual(status["restarts"]["application"], 0, status)
        self.assertEqual(sorted((m["index"], m.get("incarnation", 0)) for m in status["members"]), [(0, 0), (1, 1), (2, 0)])
        total = sum(step * (1 + 2 + 3) for step in range(400))
        for name in ("any-worker-0-i0", "any-worker-1-i1", "any-worker-2-i0"):
            self.assertIn(f"total {total}\n", lab.said(name))
            self.assertIn("told of an agent: []", lab.said(name))

    def test_a_role_without_a_command_is_refused_with_a_sentence(self):
        lab = LaunchedCluster(self)
        job = {"apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "bare"}, "spec": {
            "roles": [{"name": "worker", "agent": "Launcher",
                       "template": {"spec": {"containers": [{"name": "trainer", "image": "example.org/any:1"}]}}}]}}
        with self.assertRaises(urllib.error.HTTPError) as refused:
            lab.cluster.post(JOBS, job)
        self.assertIn("the first container has no command: name the trainer's program there, even where the image has an "
                      "entry point", refused.exception.read().decode())


if __name__ == "__main__":
    unittest.main()
