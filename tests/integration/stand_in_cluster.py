"""A cluster without machines: a real API server with the chart's objects on it, real operators that act as its service
account, and stand-ins for what nodes do: pods become processes here, and the members' Service is a listening socket that
leads to whom its EndpointSlice names. Used by the tests beside it."""

import base64
import http.client
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

from api_server import ApiServer
from kubelet_stand_in import BIN, PODS, KubeletStandIn
from ports import take_port
from local_run import SUSPECT_AFTER_SECONDS, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMESPACE = "trees"
CHART = ("ratoon", ROOT / "charts/ratoon", f"--namespace={NAMESPACE}")
DOOR_NAME = f"ratoon-coordinator.{NAMESPACE}.svc"
CERTIFICATE = f"/api/v1/namespaces/{NAMESPACE}/secrets/ratoon-certificate"
SLICE = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices/ratoon-coordinator-ipv4"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/ratoon"
JOBS = "/apis/ratoon.dev/v1alpha1/namespaces/default/trainingjobs"
MERGE_PATCH = "application/merge-patch+json"
AUDIT_POLICY = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
                "rules": [{"level": "Metadata"}]}


class StandInCluster:
    kubelets = KubeletStandIn

    def __init__(self, test, *values, by_template=False):
        """`values`: flags for helm that set some of the chart's. `by_template`: Helm only renders, as for Argo CD."""
        self.server = ApiServer()
        test.addCleanup(self.server.close)
        self.folder = self.server.folder
        (self.folder / "audit.json").write_text(json.dumps(AUDIT_POLICY))
        self.audit_log = self.folder / "audit.log"
        self.server.start(f"--audit-policy-file={self.folder}/audit.json", f"--audit-log-path={self.audit_log}")
        self.admin = self.write_kubeconfig("admin", {"client-certificate": str(self.folder / "client.pem"),
                                                     "client-key": str(self.folder / "client.key")})
        if by_template:
            self.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
            self.rendered = self.must("helm", "template", *CHART, "--no-hooks", "--kube-version=1.35.0", *values)
            self.apply()
        else:
            self.helm("install", *CHART, "--create-namespace", *values)
        self.server.wait_for_definition("trainingjobs.ratoon.dev")
        self.post("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
        self.tls = None  # a folder, after mount_certificate(); None: the operator makes the certificate
        self.user = None  # None: that of the test
        self.service = ServiceStandIn(self)
        test.addCleanup(self.service.close)
        self.kubelet = self.kubelets(self)
        test.addCleanup(self.kubelet.close)

    def run_as(self, user, group):
        """From now on operators and members run as a user without a name, in the group 0 and in that of their volumes, as on
        OpenShift. They read only what any user may read."""
        self.user, self.volume_group = user, group
        self.folder.chmod(0o755)
        self.programs = self.folder / "bin"
        self.programs.mkdir()
        for name in ("ratoon-operator", "counter"):
            shutil.copy(BIN / name, self.programs)

    def program(self, name):
        """A path of the operator's image, as /ratoon/launcher/ratoon-launcher, is that of the program here."""
        path = pathlib.Path(name)
        return (BIN if self.user is None else self.programs) / (path.name if path.parts[:2] == ("/", "ratoon") else path)

    def credentials(self):
        """For subprocess.Popen()."""
        return {} if self.user is None else {"user": self.user, "group": 0, "extra_groups": [self.volume_group], "cwd": "/"}

    def helm(self, *words):
        return self.must("helm", *words, f"--kubeconfig={self.admin}", *([] if CHART[-1] in words else CHART[-1:]))

    def apply(self):
        """Everything that Helm rendered."""
        self.must("kubectl", f"--kubeconfig={self.admin}", "apply", CHART[-1], "--filename=-", text=self.rendered)

    @staticmethod
    def must(*words, text=None):
        done = subprocess.run([str(word) for word in words], input=text, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def write_kubeconfig(self, name, user, server=None):
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test", "users": [{"name": "u", "user": user}],
            "clusters": [{"name": "c", "cluster": {"server": server or self.server.url,
                                                   "certificate-authority": str(self.folder / "ca.pem")}}],
            "contexts": [{"name": "test", "context": {"cluster": "c", "user": "u", "namespace": NAMESPACE}}]}))
        return path

    def get(self, path):
        return json.loads(self.server.request("GET", path))

    def post(self, path, body):
        return json.loads(self.server.request("POST", path, body))

    def patch(self, path, body):
        return json.loads(self.server.request("PATCH", path, body, MERGE_PATCH))

    def mount_certificate(self, files):
        """As a kubelet mounts a Secret, and renews what is mounted: all files at once."""
        fresh = pathlib.Path(tempfile.mkdtemp(prefix="tls-", dir=self.folder))
        fresh.chmod(0o755)
        for name, content in files.items():
            (fresh / name).write_bytes(content)
        link = fresh / "link"
        link.symlink_to(fresh)
        self.tls = self.folder / "tls"
        link.rename(self.tls)

    def service_account_token(self):
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/ratoon/token"
        return self.post(path, {"spec": {"expirationSeconds": 7200}})["status"]["token"]

    def leader(self):
        """The holder of the lease, or nothing."""
        try:
            return self.get(LEASE)["spec"].get("holderIdentity", "")
        except urllib.error.HTTPError:
            return ""

    def start_job(self, name, steps, pause_ms=20, path=JOBS, **spec):
        self.kubelet.save_folder(name)
        trainer = {"name": "trainer", "image": "example.org/counter:1",
                   "command": ["counter", "--steps", str(steps), "--pause-ms", str(pause_ms)]}
        self.post(path, {"apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": name}, "spec": {
            "numNodes": 2, "checkpointPolicy": {"volumeClaimName": name, "intervalSteps": 10},
            "disruptionPolicy": {"suspectAfterSeconds": SUSPECT_AFTER_SECONDS},
            "roles": [{"name": "worker", "template": {"spec": {"containers": [trainer]}}}], **spec}})

    def status(self, name):
        return self.get(f"{JOBS}/{name}").get("status", {})

    def pods(self, name):
        """Those that are to stay."""
        found = self.get(f"{PODS}?labelSelector=ratoon.dev/job-name%3D{name}")["items"]
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def step(self, name):
        return self.status(name).get("progress", {}).get("step", 0)

    def wait_for(self, name, what, says, seconds=180):
        def look():
            status = self.status(name)
            return status if says(status) else None
        try:
            return wait_until(look, what, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{json.dumps(self.status(name), indent=1)}\n{self.logs()}") from None

    def logs(self):
        """The last words of operators and members."""
        return "\n".join(f"== {path.name}\n{path.read_text()[-3000:]}" for path in sorted(self.folder.glob("*.out")))

    def audited(self):
        """All calls that ended, in the order of the log. The server may be in the middle of its last line."""
        lines = self.audit_log.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]


class Operator:
    """ratoon-operator as the chart starts it. Calls of different starts carry tokens that the audit log tells apart."""

    def __init__(self, test, cluster, name, number, *flags, server=None, is_tls=True):
        self.cluster, self.name, self.is_tls = cluster, name, is_tls
        self.address = f"10.1.0.{number}"
        token = cluster.service_account_token()
        self.credential = json.loads(decode_part(token.split(".")[1]))["jti"]
        self.kubeconfig = cluster.write_kubeconfig(name, {"token": token}, server)
        self.flags = flags
        self.process = None
        self.lock = threading.Lock()  # so that nothing is started after the end
        self.is_over = False
        self.start()
        test.addCleanup(self.close)

    def start(self):
        self.door, self.metrics_port, self.probe_port = take_port(), take_port(), take_port()  # anew, as a pod's address is
        environment = {**os.environ, "HOSTNAME": self.name, "RATOON_COORDINATOR_SERVICE": "ratoon-coordinator",
                       "RATOON_OPERATOR_IMAGE": "ratoon-operator:dev",
                       "RATOON_POD_IP": self.address, "RATOON_POD_UID": f"uid-of-{self.name}"}
        certificate = f"--tls-folder={self.cluster.tls}" if self.cluster.tls else "--tls-secret=ratoon-certificate"
        door = [f"--advertise-url={'https' if self.is_tls else 'http'}://{self.cluster.service.address}",
                *([certificate, f"--tls-server-name={DOOR_NAME}"] if self.is_tls else [])]
        with open(self.cluster.folder / f"{self.name}.out", "a") as out:
            self.process = subprocess.Popen(
                [self.cluster.program("ratoon-operator"), f"--kubeconfig={self.kubeconfig}", "--lease-name=ratoon",
                 f"--coordinator-port={self.door}", f"--metrics-port={self.metrics_port}",
                 f"--probe-port={self.probe_port}", *door, *self.flags],
                env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out, **self.cluster.credentials())

    def ask(self, path):
        """(status, body), or nothing where nobody answers."""
        port = self.metrics_port if path == "/metrics" else self.probe_port
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return None

    def page(self, path):
        """The body once it answers."""
        return wait_until(lambda: self.ask(path), f"{self.name} to answer {path}")[1]

    def is_ready(self):
        answer = self.ask("/readyz")
        return answer is not None and answer[0] == 200

    def is_leading(self):
        answer = self.ask("/metrics")
        return answer is not None and "\nratoon_leading 1\n" in answer[1]

    def said(self):
        return (self.cluster.folder / f"{self.name}.out").read_text()

    def calls(self):
        """Those of its own, by the token that it showed."""
        credential = f"JTI={self.credential}"
        return [call for call in self.cluster.audited()
                if credential in call["user"].get("extra", {}).get("authentication.kubernetes.io/credential-id", [])]

    def keep_running(self):
        """As the kubelet does: one that ended is started again."""
        def watch():
            while not self.is_over:
                self.process.wait()
                time.sleep(0.2)
                with self.lock:
                    if not self.is_over:
                        self.start()
        threading.Thread(target=watch, daemon=True).start()

    def close(self):
        with self.lock:
            self.is_over = True
            self.kill()

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()


class ServiceStandIn:
    """What kube-proxy does: a new connection goes to the address that the slice holds, an open one stays where it is."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.known = None
        self.accepted = 0  # connections, since the beginning
        threading.Thread(target=self.accept, daemon=True).start()

    def target(self):
        try:
            slice = self.cluster.get(SLICE)
            self.known = slice["ports"][0]["port"] if slice.get("endpoints") else None
        except (OSError, http.client.HTTPException):
            pass  # the last one counts, as on a node
        return self.known

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client:
            try:
                with socket.create_connection(("127.0.0.1", self.target() or 0), timeout=5) as server:
                    server.settimeout(None)
                    pump(client, server)
            except OSError:
                pass

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def pump(one, other):
    while True:
        for readable in select.select([one, other], [], [])[0]:
            data = readable.recv(65536)
            if not data:
                return
            (other if readable is one else one).sendall(data)


def decode_part(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
