"""`ratoon status` and `kubectl ratoon status` on a real API server: what they show, how they go on, and what they say
where there is nothing to show."""

import json
import os
import pathlib
import queue
import socket
import subprocess
import tempfile
import threading
import unittest

import programs
from bad_jobs import GOOD, TRAINER, changed
from crd_server_test import STATUS

BIN = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin"
PATIENCE = 180  # of the test; the program's own are shorter


def ratoon(*words, program=("ratoon",), cwd="/", **environment):
    """Without a cluster of whoever runs the test."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KUBE", "RATOON"))}
    kept["PATH"] = f"{BIN}:{kept['PATH']}"
    return subprocess.run([*program, *(str(word) for word in words)], cwd=cwd, capture_output=True, text=True,
                          timeout=PATIENCE, env={**kept, "HOME": "/nonexistent", **environment})


class Watch:
    """`ratoon status ... --watch --json`: its lines as they come."""

    def __init__(self, test, *words):
        self.process = subprocess.Popen([BIN / "ratoon", "status", *words, "--watch", "--json"], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        test.addCleanup(self.close)

    def read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))

    def until(self, is_true):
        while not is_true(line := self.lines.get(timeout=PATIENCE)):
            pass
        return line

    def end(self):
        self.process.wait(PATIENCE)
        return self.process.returncode, self.process.stderr.read()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        self.process.stderr.close()


class StatusOnAServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = programs.Cluster(cls)
        cls.folder = cls.cluster.server.folder
        cls.before_the_crd = ratoon("status", "--kubeconfig", cls.cluster.kubeconfig)
        cls.cluster.install_crd()
        cls.at = ("--kubeconfig", cls.cluster.kubeconfig)

    def make(self, name, namespace="default", job=GOOD, **status):
        job = changed(("metadata.name", name), ("metadata.namespace", namespace), job=job)
        self.cluster.must("create", "--filename=-", document=job)
        self.addCleanup(self.cluster.must, "delete", "tj", name, f"--namespace={namespace}", "--ignore-not-found")
        self.write(name, namespace, **{**STATUS, **status})

    def write(self, name, namespace="default", **status):
        self.cluster.must("patch", "tj", name, f"--namespace={namespace}", "--subresource=status", "--type=merge",
                          f"--patch={json.dumps({'status': status})}")

    def user(self, name, days=1):
        """A kubeconfig with a client certificate for a user without any rights."""
        def openssl(*words):
            subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

        openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj",
                f"/CN={name}")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out",
                f"{name}.pem", "-days", str(days), "-extfile", "client.ext")
        config = json.loads(self.cluster.kubeconfig.read_text())
        config["users"][0]["user"] = {"client-certificate": f"{name}.pem", "client-key": f"{name}.key"}
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(json.dumps(config))
        return path

    def plugged(self, name, script, **more):
        """A kubeconfig whose user has a credential plugin beside it, as those of managed clouds."""
        plugin = self.folder / f"{name}.sh"
        plugin.write_text(f"#!/bin/sh\ncd {self.folder}\necho run >>{name}.runs\n{script}")
        plugin.chmod(0o755)
        config = json.loads(self.cluster.kubeconfig.read_text())
        config["users"][0]["user"] = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": f"./{name}.sh",
                                               "interactiveMode": "IfAvailable", **more}}
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(json.dumps(config))
        return path

    def runs(self, name):
        return len((self.folder / f"{name}.runs").read_text().splitlines())

    @staticmethod
    def credential(**status):
        return json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status})

    def refused(self, done, code, *parts):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        for part in parts:
            self.assertIn(part, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, "one sentence")

    def test_the_picture_has_what_the_status_carries(self):
        self.make("digits")
        done = ratoon("status", "digits", *self.at)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for part in ("digits   Recovering, attempt 4\n", f"in       namespace 'default' at {self.cluster.server.url}\n",
                     "at       step 1234, sample 79001 of 256000 (30 %)  loss 0.6931\n", "durable  step 1200  volume 0011\n",
                     "losses   3 lost, 1 failed, 2 hung (1 that cannot fail the job); recovered in 7.25 s\n",
                     "failed   11:38:21 good-worker-0-i0 on n2: crashed with signal 11: no such layer\n",
                     "worker-1 was lost with its node\n", "digits-worker-1-i2  Completed\n", "n0 ",
                     "11:38:21    7.25     34           good-worker-1-i1  n0    silent\n",
                     "seconds      3.50    0.00    0.25   2.00   0.50        0.50  0.50\n"):
            self.assertIn(part, done.stdout)

    def test_kubectl_starts_it_and_it_reads_what_kubectl_reads(self):
        self.make("plugged")
        kubectl = ratoon("ratoon", "status", "plugged", program=("kubectl",), KUBECONFIG=str(self.cluster.kubeconfig))
        self.assertEqual((kubectl.returncode, kubectl.stderr), (0, ""))
        self.assertEqual(kubectl.stdout, ratoon("status", "plugged", *self.at).stdout)
        told = ratoon("ratoon", "status", "plugged", "--json", program=("kubectl",),
                      KUBECONFIG=str(self.cluster.kubeconfig))
        document = json.loads(told.stdout)
        self.assertEqual(document["job"]["status"], STATUS)
        self.assertEqual((document["server"], document["running"]), (self.cluster.server.url, True))
        self.assertNotIn("managedFields", document["job"]["metadata"])
        self.assertIn("kubectl ratoon status", ratoon("ratoon", "status", "--help", program=("kubectl",)).stdout)
        self.assertEqual(ratoon("ratoon", "run", "job.yaml", program=("kubectl",)).returncode, 82)

    def test_the_jobs_may_be_too_many_for_one_reply(self):
        """The API client refuses replies of more than 16 MiB, and etcd takes objects of at most 1.5 MiB."""
        self.cluster.must("create", "namespace", "wide")
        long = changed((f"{TRAINER}.env", [{"name": f"LONG_{number}", "value": "x" * 30_000} for number in range(48)]))
        for number in range(12):
            self.make(f"wide-{number}", "wide", job=long)
        done = ratoon("status", "--namespace=wide", *self.at)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for number in range(12):
            self.assertIn(f"wide-{number} ", done.stdout)

    def test_a_plugin_gives_the_certificate(self):
        self.make("clouded")
        user = json.loads(self.cluster.kubeconfig.read_text())["users"][0]["user"]
        certificate, key = ((self.folder / user[part]).read_text() for part in ("client-certificate", "client-key"))
        credential = self.credential(clientCertificateData=certificate, clientKeyData=key)
        path = self.plugged("certifies", f"cat <<'E'\n{credential}\nE\n")
        done = ratoon("status", "clouded", "--kubeconfig", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("clouded ", done.stdout)
        self.assertEqual(self.runs("certifies"), 1)

    def test_a_token_that_the_server_does_not_take_is_fetched_again(self):
        self.make("tokened")
        self.cluster.must("create", "serviceaccount", "researcher")
        self.cluster.must("create", "clusterrolebinding", "researcher", "--clusterrole=cluster-admin",
                          "--serviceaccount=default:researcher")
        self.cluster.wait_for_right("system:serviceaccount:default:researcher", "list", "trainingjobs.ratoon.dev")
        token = self.cluster.must("create", "token", "researcher").strip()
        (self.folder / "good.json").write_text(self.credential(token=token, expirationTimestamp="2999-01-01T00:00:00+01:00"))
        (self.folder / "old.json").write_text(self.credential(token="no.longer.good"))
        path = self.plugged("renews", 'if [ "$(wc -l <renews.runs)" -gt 1 ]; then cat good.json; else cat old.json; fi\n')
        done = ratoon("status", "tokened", "--kubeconfig", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.runs("renews"), 2)

    def test_a_plugin_that_cannot_help_is_a_sentence(self):
        path = self.plugged("fails", "echo log in first >&2; exit 3\n")
        failed = ratoon("status", "--kubeconfig", path)
        self.assertEqual((failed.returncode, failed.stdout), (84, ""))
        self.assertIn("log in first\n", failed.stderr)
        self.assertIn("fails.sh' ended with exit code 3", failed.stderr)
        self.refused(ratoon("status", "--kubeconfig", self.plugged("mumbles", "echo hello\n")), 82, "answered with no JSON")
        absent = self.plugged("absent", "", command="no-such-plugin", installHint="it is on its page")
        self.refused(ratoon("status", "--kubeconfig", absent), 82, "no-such-plugin", "the kubeconfig says: it is on its page")
        asks = self.plugged("asks", "", interactiveMode="Always")
        self.refused(ratoon("status", "--kubeconfig", asks), 82, "Ratoon gives it none")

    def test_all_jobs_of_a_namespace_or_of_all(self):
        self.cluster.must("create", "namespace", "other")
        self.make("first", phase="Running")
        self.make("second", "other")
        own = ratoon("status", "--cluster", KUBECONFIG=str(self.cluster.kubeconfig))
        self.assertRegex(own.stdout, r"first +Running, attempt 4, 6 processes\n")
        every = ratoon("status", "-A", *self.at).stdout.splitlines()
        self.assertEqual([line.split()[:3] for line in every],
                         [["NAMESPACE", "NAME", "PHASE"], ["default", "first", "Running"], ["other", "second", "Recovering"]])
        self.assertRegex(ratoon("status", "-n", "other", *self.at).stdout, "second +Recovering")
        self.assertRegex(ratoon("status", "second", "-A", *self.at).stdout, "second +Recovering")
        listed = json.loads(ratoon("status", "-A", "--json", *self.at).stdout)
        self.assertEqual([job["job"]["metadata"]["name"] for job in listed["jobs"]], ["first", "second"])
        self.make("first", "other")
        self.refused(ratoon("status", "first", "-A", *self.at), 82, "in each of the namespaces default, other")

    def test_a_watch_survives_the_server_and_ends_with_the_job(self):
        self.make("watched", phase="Running", progress={"step": 5})
        watch = Watch(self, "watched", *self.at)

        def step(line):
            return line["job"]["status"]["progress"]["step"]

        watch.until(lambda line: step(line) == 5)
        self.write("watched", progress={"step": 6})
        watch.until(lambda line: step(line) == 6)
        self.cluster.server.restart_api_server()
        self.write("watched", progress={"step": 7})
        self.assertEqual(watch.until(lambda line: step(line) == 7)["running"], True)
        self.write("watched", phase="Succeeded")
        self.assertEqual(watch.until(lambda line: line["job"]["status"]["phase"] == "Succeeded")["running"], False)
        code, said = watch.end()
        self.assertEqual(code, 0)
        self.assertRegex(said, rf"^ratoon: cannot watch {self.cluster.server.url} for now: .*\n"
                               rf"(.*\n)*ratoon: the API server {self.cluster.server.url} answers again\n$")

    def test_a_watched_job_that_is_deleted_is_an_end_too(self):
        self.make("deleted")
        watch = Watch(self, "deleted", *self.at)
        watch.until(lambda line: True)
        self.cluster.must("delete", "tj", "deleted")
        code, said = watch.end()
        self.assertEqual(code, 82)
        self.assertIn("TrainingJob 'deleted' was deleted from namespace 'default'", said)

    def test_missing_rights_are_named(self):
        config = self.user("jane")
        self.refused(ratoon("status", "--kubeconfig", config), 84, "this user may not list trainingjobs.ratoon.dev in "
                     f"namespace 'default' at {self.cluster.server.url}", 'User "jane" cannot list resource "trainingjobs"')
        self.cluster.must("create", "role", "reader", "--verb=list", "--resource=trainingjobs.ratoon.dev")
        self.cluster.must("create", "rolebinding", "reader", "--role=reader", "--user=jane")
        self.cluster.wait_for_right("jane", "list", "trainingjobs.ratoon.dev")
        self.make("seen")
        self.assertEqual(ratoon("status", "seen", "--kubeconfig", config).returncode, 0)
        watched = ratoon("status", "seen", "--kubeconfig", config, "--watch", "--json")
        self.assertEqual(watched.returncode, 84)
        self.assertIn("this user may not watch trainingjobs.ratoon.dev", watched.stderr)

    def suspend_of(self, name):
        return self.cluster.must("get", "tj", name, "--output=jsonpath={.spec.suspend}")

    def test_a_job_is_suspended_and_resumed(self):
        self.make("paused", phase="Running")
        plugin = ("kubectl", "ratoon")
        self.refused(ratoon("resume", "paused", *self.at), 82, "TrainingJob 'paused' in namespace 'default' at "
                     f"{self.cluster.server.url} is not suspended")
        done = ratoon("suspend", "paused", *self.at, program=plugin)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("is suspended: its members save, and then their pods end", done.stdout)
        self.assertEqual(self.suspend_of("paused"), "true")
        self.refused(ratoon("suspend", "paused", *self.at), 82, "is suspended already")
        self.refused(ratoon("resume", "paused", *self.at), 82, "changing trainingjobs.ratoon.dev in namespace 'default'",
                     "members that still save")
        self.write("paused", phase="Suspended")
        self.assertEqual(ratoon("resume", "paused", *self.at).returncode, 0)
        self.assertEqual(self.suspend_of("paused"), "false")
        self.write("paused", phase="Succeeded")
        self.refused(ratoon("suspend", "paused", *self.at), 82, "is over (Succeeded)")
        self.refused(ratoon("suspend", "pausd", *self.at), 82, "did you mean paused?")
        self.refused(ratoon("suspend", *self.at), 82, "name the TrainingJob: ratoon suspend NAME --cluster")
        self.refused(ratoon("suspend", program=plugin), 82, "job")

    def test_the_right_to_suspend_is_named(self):
        config = self.user("mary")
        self.cluster.must("create", "role", "lister", "--verb=list", "--resource=trainingjobs.ratoon.dev")
        self.cluster.must("create", "rolebinding", "lister", "--role=lister", "--user=mary")
        self.cluster.wait_for_right("mary", "list", "trainingjobs.ratoon.dev")
        self.make("kept", phase="Running")
        self.refused(ratoon("suspend", "kept", "--kubeconfig", config), 84, "this user may not patch trainingjobs.ratoon.dev",
                     "the verbs 'list' and 'patch'")

    def test_a_certificate_that_ended_is_told(self):
        self.refused(ratoon("status", "--kubeconfig", self.user("late", days=-1)), 84, "client certificate expired at ")

    def test_a_user_that_nobody_knows_is_told(self):
        config = json.loads(self.cluster.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": "nonsense"}
        (self.folder / "nobody.kubeconfig").write_text(json.dumps(config))
        self.refused(ratoon("status", "--kubeconfig", self.folder / "nobody.kubeconfig"), 84, "does not know this user")

    def test_without_the_definition_it_is_said_how_to_get_it(self):
        self.refused(self.before_the_crd, 82, "does not know TrainingJobs", "crds/trainingjob.yaml")

    def test_an_unknown_job_is_told_with_the_nearest(self):
        self.make("resnet")
        self.refused(ratoon("status", "resnt", *self.at), 82, "there is no TrainingJob 'resnt'", "did you mean resnet?")
        self.refused(ratoon("status", "-n", "kube-public", *self.at), 82, "there is no TrainingJob in namespace")

    def test_a_server_that_is_away_is_not_waited_for_for_long(self):
        config = json.loads(self.cluster.kubeconfig.read_text())
        with socket.socket() as silent:  # takes connections and says nothing
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{silent.getsockname()[1]}"
            path = self.folder / "away.kubeconfig"
            path.write_text(json.dumps(config))
            self.refused(ratoon("status", "--kubeconfig", path), 84, "cannot be reached")
        self.refused(ratoon("status", "--kubeconfig", path), 84, "cannot be reached")

    def test_a_context_is_taken_by_its_name(self):
        self.make("chosen")
        config = json.loads(self.cluster.kubeconfig.read_text())
        config["current-context"] = "gone"
        path = self.folder / "contexts.kubeconfig"
        path.write_text(json.dumps(config))
        self.assertEqual(ratoon("status", "chosen", "--kubeconfig", path, "--context", "test").returncode, 0)
        self.refused(ratoon("status", "chosen", "--kubeconfig", path), 82, "names the context 'gone'")

    def test_without_a_word_of_a_cluster_none_is_asked(self):
        self.make("local")
        with tempfile.TemporaryDirectory() as folder:
            done = ratoon("status", "local", cwd=folder, KUBECONFIG=str(self.cluster.kubeconfig))
        self.refused(done, 82, "neither a run's folder nor ratoon-runs/local; name the folder that `ratoon run` printed "
                               "when the run began; no cluster was asked: use `ratoon status local --cluster` to ask it")
        self.refused(ratoon("status", "--cluster"), 82, "no cluster is known here", "/nonexistent/.kube/config does not exist")


if __name__ == "__main__":
    programs.main("kubectl", with_server=True)
