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

BIN = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin"
PATIENCE = 180


class Kubelet:
    """Serves the log of each container as far as the test has written it. cut(pod) breaks its streams."""

    def __init__(self, folder):
        self.changed = threading.Condition()
        self.logs, self.ended, self.cuts, self.asked = {}, set(), {}, []
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

    def serve(self, handler):
        url = urllib.parse.urlparse(handler.path)
        query = {name: values[0] for name, values in urllib.parse.parse_qs(url.query).items()}
        pod = url.path.split("/")[3]
        with self.changed:
            self.asked.append((pod, query))
            lines, cuts = list(self.logs.get(pod, [])), self.cuts.get(pod, 0)
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
                is_over = pod in self.ended or "follow" not in query
            at += len(news)
            for line in news:
                if line.split(" ")[0][:19] >= since[:19]:
                    handler.wfile.write(f"{len(line):x}\r\n{line}\r\n".encode())
            handler.wfile.flush()
            if is_cut:
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

    def make_pod(self, index, incarnation=0):
        name = f"{self.job}-worker-{index}-i{incarnation}"
        labels = {"ratoon.dev/job-name": self.job, "ratoon.dev/job-uid": self.uid, "ratoon.dev/role": "worker",
                  "ratoon.dev/index": str(index), "ratoon.dev/incarnation": str(incarnation)}
        owner = {"apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob", "name": self.job, "uid": self.uid,
                 "controller": True}
        self.must("create", document={
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels, "ownerReferences": [owner]},
            "spec": {"nodeName": "n0", "containers": [{"name": "trainer", "image": "example.org/train:1"}]}})
        self.patch("pod", name, {"phase": "Running", "containerStatuses": [
            {"name": "trainer", "image": "a", "imageID": "", "ready": True, "restartCount": 0,
             "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]})
        return name

    def start(self, *words):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("KUBE", "RATOON"))}
        environment["PATH"] = f"{BIN}:{environment['PATH']}"
        return subprocess.Popen(["kubectl", "ratoon", "logs", *words, "--kubeconfig", str(self.cluster.kubeconfig)],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)

    def show(self, *words):
        process = self.start(*words)
        out, said = process.communicate(timeout=PATIENCE)
        return process.returncode, out, said

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
        process = self.start("followed", "-f")
        self.addCleanup(lambda: (process.kill(), process.wait(), process.stdout.close(), process.stderr.close()))
        lines = queue.Queue()
        threading.Thread(target=lambda: [lines.put(line) for line in process.stdout], daemon=True).start()
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


if __name__ == "__main__":
    programs.main("kubectl", with_server=True)
