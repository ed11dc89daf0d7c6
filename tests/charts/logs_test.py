"""`kubectl ratoon logs` on a real API server, whose kubelet is a stand-in that this file has: it serves the logs."""

import http.server
import json
import os
import pathlib
import queue
import ssl
import subprocess
import threading
import unittest
import urllib.parse

import programs
from bad_jobs import changed
from local_run import wait_until

BIN = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin"
PATIENCE = 180
RUNNING = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
ENDED = {"terminated": {"exitCode": 0, "reason": "Completed"}}


class Kubelet:
    """Serves the log of each container as far as the test has written it. cut(pod) breaks its streams."""

    def __init__(self, folder):
        self.changed = threading.Condition()
        self.logs, self.ended, self.cuts, self.torn, self.asked = {}, set(), {}, set(), []
        self.unreachable = set()  # pods of dead nodes
        kubelet = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                kubelet.serve(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.pem", folder / "server.key")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def write(self, pod, *lines):
        with self.changed:
            log = self.logs.setdefault(pod, [])
            for line in lines:
                log.append(f"2026-01-01T00:00:{len(log):02}.000000000Z {line}\n")
            self.changed.notify_all()

    def end(self, pod):
        with self.changed:
            self.ended.add(pod)
            self.changed.notify_all()

    def cut(self, pod):
        with self.changed:
            self.cuts[pod] = self.cuts.get(pod, 0) + 1
            self.changed.notify_all()

    def tear(self, pod, line):
        """Writes a line, and ends the present streams in its middle as a complete reply ends."""
        with self.changed:
            self.torn.add(pod)
            self.write(pod, line)
            self.cut(pod)

    def is_asked_for(self, pod):
        with self.changed:
            return any(name == pod for name, _ in self.asked)

    def serve(self, handler):
        url = urllib.parse.urlparse(handler.path)
        query = {name: values[0] for name, values in urllib.parse.parse_qs(url.query).items()}
        pod = url.path.split("/")[3]
        with self.changed:
            self.asked.append((pod, query))
            lines, cuts = list(self.logs.get(pod, [])), self.cuts.get(pod, 0)
        if pod in self.unreachable:
            return handler.send_error(500)
        since, tail = query.get("sinceTime", ""), query.get("tailLines")
        at = len(lines) - min(int(tail), len(lines)) if tail else 0
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        while True:
            with self.changed:
                self.changed.wait_for(lambda: len(self.logs.get(pod, [])) > at or pod in self.ended
                                      or self.cuts.get(pod, 0) != cuts or "follow" not in query, PATIENCE)
                news, is_cut = self.logs.get(pod, [])[at:], self.cuts.get(pod, 0) != cuts
                is_torn = is_cut and pod in self.torn
                is_over = pod in self.ended or "follow" not in query or is_torn
            at += len(news)
            if is_torn:
                news[-1] = news[-1][:-3]
            for line in news:
                if line.split(" ")[0][:19] >= since[:19]:
                    handler.wfile.write(f"{len(line):x}\r\n{line}\r\n".encode())
            handler.wfile.flush()
            if is_cut and not is_torn:
                handler.close_connection = True
                return handler.connection.close()
            if is_over:
                handler.wfile.write(b"0\r\n\r\n")
                return None


class LogsOfAJob(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = programs.Cluster(cls)
        cls.cluster.install_crd()
        cls.kubelet = Kubelet(cls.cluster.server.folder)
        cls.must("create", document={"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0"}})
        cls.patch("node", "n0", {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                                 "daemonEndpoints": {"kubeletEndpoint": {"Port": cls.kubelet.port}}})
        cls.must("create", document={"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})

    @classmethod
    def must(cls, *words, document):
        return cls.cluster.must(*words, "--filename=-", "--output=json", document=document)

    @classmethod
    def patch(cls, kind, name, status):
        cls.cluster.must("patch", kind, name, "--subresource=status", "--type=merge",
                         f"--patch={json.dumps({'status': status})}")

    def make_job(self, name):
        self.uid = json.loads(self.must("create", document=changed(("metadata.name", name))))["metadata"]["uid"]
        self.job = name
        self.patch("tj", name, {"phase": "Running"})

    def make_pod(self, index, incarnation=0, **container):
        name = f"{self.job}-worker-{index}-i{incarnation}"
        labels = {"ratoon.dev/job-name": self.job, "ratoon.dev/job-uid": self.uid, "ratoon.dev/role": "worker",
                  "ratoon.dev/index": str(index), "ratoon.dev/incarnation": str(incarnation)}
        owner = {"apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob", "name": self.job, "uid": self.uid,
                 "controller": True}
        self.must("create", document={
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels, "ownerReferences": [owner]},
            "spec": {"nodeName": "n0", "containers": [{"name": "trainer", "image": "example.org/train:1", **container}]}})
        self.tell_state(name, "Running", RUNNING)
        return name

    def tell_state(self, pod, phase, state):
        self.patch("pod", pod, {"phase": phase, "containerStatuses": [
            {"name": "trainer", "image": "a", "imageID": "", "ready": False, "restartCount": 0, "state": state}]})

    def start(self, *words):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("KUBE", "RATOON"))}
        environment["PATH"] = f"{BIN}:{environment['PATH']}"
        return subprocess.Popen(["kubectl", "ratoon", "logs", *words, "--kubeconfig", str(self.cluster.kubeconfig)],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)

    def show(self, *words):
        process = self.start(*words)
        out, said = process.communicate(timeout=PATIENCE)
        return process.returncode, out, said

    def follow(self, job):
        """The command, and its lines as they come."""
        process = self.start(job, "-f")
        self.addCleanup(lambda: (process.kill(), process.wait(), process.stdout.close(), process.stderr.close()))
        lines = queue.Queue()
        threading.Thread(target=lambda: [lines.put(line) for line in process.stdout], daemon=True).start()
        return process, lines

    def test_each_line_has_its_member_in_front(self):
        self.make_job("plain")
        zero, one = self.make_pod(0), self.make_pod(1)
        self.kubelet.write(zero, "step 1", "step 2")
        self.kubelet.write(one, "a\tb")
        self.assertEqual(self.show("plain"), (0, "[0] step 1\n[0] step 2\n[1] a\tb\n", ""))
        self.assertEqual(self.show("plain", "worker-0", "--tail", "1"), (0, "step 2\n", ""))
        code, out, said = self.show("plain", "worker-7")
        self.assertEqual((code, out), (82, ""))
        self.assertIn("has no pod of member 'worker-7' now; `kubectl ratoon status plain` says what it waits for", said)
        self.assertIn("did you mean plain?", self.show("plan")[2])

    def test_kubectl_completes_the_words_of_its_plugin(self):
        done = subprocess.run(["kubectl", "__complete", "ratoon", "check"], capture_output=True, text=True, timeout=PATIENCE,
                              env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"})
        self.assertEqual(done.stdout, "checkpoints\n:4\n", done.stderr)

    def test_they_are_followed_over_cuts_and_losses(self):
        self.make_job("followed")
        zero = self.make_pod(0)
        self.kubelet.write(zero, "one")
        process, lines = self.follow("followed")
        self.assertEqual(lines.get(timeout=PATIENCE), "[0] one\n")
        self.kubelet.write(zero, "two")
        self.assertEqual(lines.get(timeout=PATIENCE), "[0] two\n")
        self.kubelet.cut(zero)
        self.kubelet.write(zero, "three")
        self.assertEqual(lines.get(timeout=PATIENCE), "[0] three\n", "no line is shown twice")
        self.kubelet.end(zero)
        successor = self.make_pod(0, 1)
        self.kubelet.write(successor, "four")
        self.assertEqual(lines.get(timeout=PATIENCE), "[0] four\n")
        self.kubelet.end(successor)
        self.patch("tj", "followed", {"phase": "Succeeded"})
        self.assertEqual(process.wait(PATIENCE), 0)
        self.assertTrue(lines.empty())

    def test_they_end_with_the_job_while_the_pod_of_a_dead_node_exists(self):
        self.make_job("lost")
        zero, one = self.make_pod(0), self.make_pod(1)
        self.kubelet.unreachable.add(one)
        self.kubelet.write(zero, "one")
        process, lines = self.follow("lost")
        self.assertEqual(lines.get(timeout=PATIENCE), "[0] one\n")
        wait_until(lambda: self.kubelet.is_asked_for(one), "a call for the log of the lost member", PATIENCE)
        self.kubelet.end(zero)
        self.patch("tj", "lost", {"phase": "Succeeded"})
        self.assertEqual(process.wait(PATIENCE), 0)
        self.assertEqual(process.stderr.read().count(f"the log of {one} cannot be read for now"), 1)

    def test_a_stream_that_ends_within_the_log_is_continued(self):
        for job, phase, state in (("broken", "Running", RUNNING), ("over", "Succeeded", ENDED)):
            with self.subTest(phase):
                self.make_job(job)
                zero = self.make_pod(0)
                self.tell_state(zero, phase, state)
                self.kubelet.write(zero, "one")
                process, lines = self.follow(job)
                self.assertEqual(lines.get(timeout=PATIENCE), "[0] one\n")
                for line in ("two and more", "three and more"):
                    self.kubelet.tear(zero, line)
                    self.assertEqual(lines.get(timeout=PATIENCE), f"[0] {line}\n")
                self.kubelet.end(zero)
                self.patch("tj", job, {"phase": "Succeeded"})
                self.assertEqual(process.wait(PATIENCE), 0)
                self.assertTrue(lines.empty())

    def test_the_pods_of_a_job_may_be_too_many_for_one_reply(self):
        """The API client refuses replies of more than 16 MiB, and etcd takes objects of at most 1.5 MiB."""
        self.make_job("wide")
        for index in range(12):
            pod = self.make_pod(index, env=[{"name": "LONG", "value": "x" * 1_450_000}])
            self.kubelet.write(pod, f"of {index}")
        self.assertEqual(self.show("wide"), (0, "".join(f"[{index}] of {index}\n" for index in range(12)), ""))
        self.assertEqual(self.show("wide", "worker-11"), (0, "of 11\n", ""))


if __name__ == "__main__":
    programs.main("kubectl", with_server=True)
