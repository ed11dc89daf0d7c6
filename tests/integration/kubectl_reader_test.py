"""`kubectl ratoon checkpoints` and `kubectl ratoon report` on a real API server, for jobs that a real operator ran. The pods
in which they read are processes of this machine."""

import json
import os
import signal
import subprocess
import sys
import unittest

from api_server import missing_programs
from kubelet_stand_in import BIN, NODES
from local_run import wait_until
from reader_kubelets import READERS, ReaderKubelets
from stand_in_cluster import JOBS, Operator, StandInCluster

PATIENCE = 180
STEPS = 60


class ReaderCluster(StandInCluster):
    kubelets = ReaderKubelets


class ReadInAPod(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = ReaderCluster(cls)
        Operator(cls, cls.cluster, "one", 1)
        cls.train("digits", ["counter", "--steps", str(STEPS), "--pause-ms", "5"], "Succeeded")

    @classmethod
    def addCleanup(cls, *call):
        """The cluster is that of all tests."""
        cls.addClassCleanup(*call)

    @classmethod
    def train(cls, name, command, phase):
        """The job's volume is a folder of its node, which the stand-in gives the members as their own."""
        folder = str(cls.cluster.kubelet.save_folder(name))
        trainer = {"name": "trainer", "image": "example.org/counter:1",
                   "command": [*command, "--save-folder", folder] if phase == "Succeeded" else command,
                   "volumeMounts": [{"name": "runs", "mountPath": folder}]}
        volumes = [{"name": "runs", "hostPath": {"path": folder}}]
        cls.cluster.post(JOBS, {"apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": name}, "spec": {
            "numNodes": 1, "checkpointPolicy": {"intervalSteps": 10},
            "roles": [{"name": "worker", "template": {"spec": {"containers": [trainer], "volumes": volumes}}}]}})
        cls.cluster.wait_for(name, phase, lambda status: status.get("phase") == phase)

    def setUp(self):
        self.kubelet = self.cluster.kubelet
        self.kubelet.instead = self.kubelet.standing = None
        self.kubelet.log_server.lines_max, self.kubelet.log_server.ends_cleanly = None, False
        self.folder = self.kubelet.save_folder("digits") / "digits"

    def start(self, *words, kubeconfig=None, **how):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("KUBE", "RATOON"))}
        return subprocess.Popen([BIN / "kubectl-ratoon", *words, "--namespace=default",
                                 f"--kubeconfig={kubeconfig or self.cluster.admin}"], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=environment, cwd=self.cluster.folder, **how)

    def show(self, *words, code=0, kubeconfig=None):
        process = self.start(*words, kubeconfig=kubeconfig)
        out, said = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, code, said)
        return said if code else out

    def here(self, *words):
        """What `ratoon` prints where it reaches the files itself."""
        return subprocess.run([BIN / "ratoon", *words], capture_output=True, text=True, timeout=PATIENCE).stdout

    def readers(self):
        return self.cluster.get(READERS)["items"]

    def expect_no_reader(self):
        wait_until(lambda: not self.readers(), "the end of the reader pod", PATIENCE)

    def test_it_prints_what_ratoon_prints_beside_the_files(self):
        self.assertIn("complete", self.here("checkpoint", "list", self.folder))
        self.assertEqual(self.show("checkpoints", "digits"), self.here("checkpoint", "list", self.folder))
        shown = json.loads(self.show("checkpoints", "digits", "--json"))
        self.assertEqual(shown, json.loads(self.here("checkpoint", "list", self.folder, "--json")))
        self.assertEqual(shown["checkpoints"][0]["step"], STEPS)
        self.assertEqual(self.show("checkpoints", "digits", "--verify"), self.here("checkpoint", "verify", self.folder))
        one = json.loads(self.show("checkpoints", "digits", "--verify", f"--step={STEPS}", "--json"))
        self.assertEqual([each["step"] for each in one["checkpoints"]], [STEPS])
        said = self.show("checkpoints", "digits", "--verify", "--step=7", code=82)
        self.assertIn("no checkpoint matches your choice", said)
        self.assertNotIn("reader pod", said, "the words of ratoon suffice")
        self.expect_no_reader()

    def test_its_pod_is_the_jobs_and_not_a_member(self):
        self.show("checkpoints", "digits")
        wait_until(lambda: "nodeName" in list(self.kubelet.readers.values())[-1]["spec"], "the kubelet to see the bound pod")
        pod = list(self.kubelet.readers.values())[-1]
        job = self.cluster.get(f"{JOBS}/digits")
        self.assertEqual(job["status"]["saveLocation"], str(self.folder))
        (owner,) = pod["metadata"]["ownerReferences"]
        self.assertEqual((owner["uid"], owner.get("controller")), (job["metadata"]["uid"], None))
        self.assertEqual(pod["spec"]["containers"][0]["image"], "ratoon-operator:dev")
        self.assertEqual(pod["spec"]["nodeName"], job["status"]["members"][0]["node"], "where the hostPath volume is")
        self.assertTrue(all(each["readOnly"] for each in pod["spec"]["containers"][0]["volumeMounts"]))
        self.assertEqual(self.cluster.status("digits"), job["status"], "the operator does not notice it")

    def test_a_report_has_the_runs_curves_and_the_jobs_counts(self):
        report = json.loads(self.show("report", "digits", "--json"))
        job = self.cluster.get(f"{JOBS}/digits")
        self.assertEqual((report["standing"], report["step"], report["name"]), ("completed", STEPS, "digits"))
        self.assertEqual(report["checkpoints"][0]["step"], STEPS)
        self.assertEqual(report["restarts"]["disruption"], job["status"]["restarts"]["disruption"])
        self.assertGreater(sum(report["account"].values()), 0)
        self.assertEqual(self.show("report", "digits"), "digits-report.html\n")
        page = (self.cluster.folder / "digits-report.html").read_text()
        self.assertTrue(page.startswith("<!DOCTYPE html>") and page.rstrip().endswith("</html>"), page[:99] + page[-99:])
        self.assertIn("completed", page)
        rows = self.show("report", "digits", "--csv").splitlines()
        self.assertEqual(len([row for row in rows if ",sum," in row]), STEPS)
        self.expect_no_reader()

    def test_a_log_that_is_cut_off_is_read_to_its_end(self):
        self.kubelet.log_server.lines_max = 3
        for self.kubelet.log_server.ends_cleanly in (False, True):
            with self.subTest(ends_cleanly=self.kubelet.log_server.ends_cleanly):
                self.assertEqual(self.show("checkpoints", "digits", "--json"),
                                 self.here("checkpoint", "list", self.folder, "--json"))

    def test_ctrl_c_deletes_the_pod(self):
        for title, instead, standing in (("before it starts", None, {"phase": "Pending"}),
                                         ("while it reads", ["sleep", "1000"], None)):
            with self.subTest(title):
                self.kubelet.instead, self.kubelet.standing = instead, standing
                process = self.start("checkpoints", "digits")
                wait_until(lambda: [pod for pod in self.readers() if standing or pod["status"]["phase"] == "Running"],
                           "a reader pod", PATIENCE)
                process.send_signal(signal.SIGINT)
                said = process.communicate(timeout=PATIENCE)[1]
                self.assertEqual(process.returncode, 130, said)
                self.expect_no_reader()

    def wait_until_it_reads(self):
        wait_until(lambda: [pod for pod in self.readers() if pod["status"]["phase"] == "Running"], "a reader pod", PATIENCE)

    def test_a_signal_that_nohup_ignores_changes_nothing(self):
        ends = self.cluster.folder / "the reader may end"
        self.kubelet.instead = ["sh", "-c", f"while [ ! -e '{ends}' ]; do sleep 0.05; done; exit 3"]
        process = self.start("checkpoints", "digits", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.wait_until_it_reads()
        process.send_signal(signal.SIGHUP)
        ends.touch()
        said = process.communicate(timeout=PATIENCE)[1]
        self.assertIn("did not finish: it ended with exit code 3", said)
        self.expect_no_reader()

    def test_an_output_that_is_closed_deletes_the_pod(self):
        """As `| head -1` does."""
        self.kubelet.instead = ["sh", "-c", "while true; do echo 1line; sleep 0.05; done"]
        for is_ignored in (False, True):
            with self.subTest(is_ignored=is_ignored):
                action = signal.SIG_IGN if is_ignored else signal.SIG_DFL
                process = self.start("checkpoints", "digits", preexec_fn=lambda: signal.signal(signal.SIGPIPE, action))
                self.assertEqual(process.stdout.readline(), "line\n")
                process.stdout.close()
                self.expect_no_reader()
                process.wait(timeout=PATIENCE)
                process.stderr.close()

    def test_a_pod_that_cannot_start_says_why(self):
        waiting = {"phase": "Pending", "containerStatuses": [
            {"name": "reader", "image": "i", "imageID": "", "ready": False, "restartCount": 0,
             "state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}}]}
        unplaced = {"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}]}
        # The time counts from the pod's creation, and the kubelets of this test need a part of it to report the status.
        for standing, seconds, code, sentence in (
                (unplaced, 10, 84, "did not start within 10 s: no node takes the pod: 0/3 nodes are available. Wait longer "
                                   "with --timeout"),
                (waiting, PATIENCE, 82, "cannot pull the image ratoon-operator:dev: Back-off pulling image; name another "
                                        "image")):
            self.kubelet.standing = standing
            self.assertIn(sentence, self.show("checkpoints", "digits", f"--timeout={seconds}", code=code))
        self.expect_no_reader()
        self.kubelet.standing = None
        self.kubelet.instead = ["sh", "-c", "echo a line of another program; exit 3"]
        said = self.show("checkpoints", "digits", code=84)
        self.assertIn("a line of another program\n", said)
        self.assertIn("did not finish: it ended with exit code 3", said)
        self.assertIn("did you mean digits?", self.show("checkpoints", "digit", code=82))
        self.expect_no_reader()

    def test_without_the_right_to_make_pods_the_status_alone_is_reported(self):
        rules = [{"apiGroups": ["ratoon.dev"], "resources": ["trainingjobs"], "verbs": ["get", "list"]}]
        role = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
        self.cluster.post("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "viewer"}})
        self.cluster.post(f"{role}/roles", {"metadata": {"name": "viewer"}, "rules": rules})
        self.cluster.post(f"{role}/rolebindings", {
            "metadata": {"name": "viewer"}, "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": "default"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "viewer"}})
        token = self.cluster.post("/api/v1/namespaces/default/serviceaccounts/viewer/token", {"spec": {}})["status"]["token"]
        viewer = self.cluster.write_kubeconfig("viewer", {"token": token})
        said = self.show("checkpoints", "digits", kubeconfig=viewer, code=84)
        self.assertIn("this user may not create pods in namespace 'default'", said)
        self.assertIn("such as the cluster role 'edit'", said)
        report = json.loads(self.show("report", "digits", "--status-only", "--json", kubeconfig=viewer))
        self.assertEqual((report["standing"], report["step"], report["checkpoints"]), ("completed", STEPS, []))

    def test_a_job_that_failed_before_it_saved_is_reported(self):
        self.train("broken", ["ratoon", "nonsense"], "Failed")
        report = json.loads(self.show("report", "broken", "--json"))
        self.assertEqual((report["standing"], report["last_failure"]["exit_code"]), ("failed", 82))
        self.assertIn("no member of the job has reported where it saves", " ".join(report["remarks"]))
        self.assertIn("name the folder in its pods, or the URL, with --location", self.show("checkpoints", "broken", code=82))
        nowhere = json.loads(self.show("report", "broken", "--json", f"--location={self.kubelet.save_folder('broken')}",
                                       f"--node={NODES[0]}"))
        self.assertIn("The run has saved nothing yet", " ".join(nowhere["remarks"]))
        self.assertEqual(nowhere["last_failure"], report["last_failure"])


if __name__ == "__main__":
    if missing := missing_programs("helm", "kubectl"):
        print(f"SKIPPED: {', '.join(missing)} not found; scripts/setup --only test builds them (needs Go 1.25)")
        sys.exit(77)
    unittest.main()
