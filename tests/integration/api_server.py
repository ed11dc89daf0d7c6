"""A real etcd and kube-apiserver on loopback, with a certificate authority made for them. Used by the tests beside it."""

import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
import json
import ssl

from ports import take_port


def missing_programs(*more):
    return [name for name in ("etcd", "kube-apiserver", "openssl", *more) if shutil.which(name) is None]


def has_ipv6():
    """Whether this machine's loopback has an address of IPv6."""
    try:
        with socket.socket(socket.AF_INET6) as listening:
            listening.bind(("::1", 0))
        return True
    except OSError:
        return False


def retry(call, seconds=180):
    """What the server answers once it is ready for the call; nothing where that was done before (409)."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return call()
        except urllib.error.HTTPError as error:
            if error.code == 409:
                return None
            assert time.monotonic() < deadline, error.read()
            time.sleep(0.1)


class ApiServer:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-apiserver-"))
        self.processes = []
        self.url = ""

    def start(self, *more):
        """`more`: flags for kube-apiserver."""
        self._make_certificates()
        etcd, etcd_peer, port = take_port(), take_port(), take_port()
        self._etcd = ("etcd", "etcd", f"--data-dir={self.folder}/etcd", "--unsafe-no-fsync",
                  f"--listen-client-urls=http://127.0.0.1:{etcd}", f"--advertise-client-urls=http://127.0.0.1:{etcd}",
                  f"--listen-peer-urls=http://127.0.0.1:{etcd_peer}")
        self._run(*self._etcd)
        self._api_server = ("apiserver", "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{etcd}",
                  "--bind-address=127.0.0.1", f"--secure-port={port}",
                  f"--tls-cert-file={self.folder}/server.pem", f"--tls-private-key-file={self.folder}/server.key",
                  f"--client-ca-file={self.folder}/ca.pem", "--authorization-mode=RBAC",
                  "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.96.0.0/16",
                  f"--service-account-key-file={self.folder}/server.pem",
                  f"--service-account-signing-key-file={self.folder}/server.key",
                  "--service-account-issuer=https://ratoon.test", f"--cert-dir={self.folder}/run", *more)
        self._run(*self._api_server)
        self.url = f"https://127.0.0.1:{port}"
        self._wait_until_ready()
        return self

    def restart_api_server(self):
        """As a crash does: etcd stays, connections break."""
        self.kill_api_server()
        self.revive_api_server()

    def kill_api_server(self):
        server = self.processes.pop()
        server.kill()
        server.wait()

    def revive_api_server(self):
        self._run(*self._api_server)
        self._wait_until_ready()

    def back_up(self):
        """What set_back() goes back to."""
        self._stop_etcd_then(lambda: shutil.copytree(self.folder / "etcd", self.folder / "backup"))

    def set_back(self):
        """As who restores a backup does: what was written since has never been, and versions count on from there."""
        def restore():
            shutil.rmtree(self.folder / "etcd")
            shutil.copytree(self.folder / "backup", self.folder / "etcd")
        self._stop_etcd_then(restore)

    def _stop_etcd_then(self, change):
        self.kill_api_server()
        etcd = self.processes.pop()
        etcd.terminate()
        etcd.wait()
        change()
        self._run(*self._etcd)
        self.revive_api_server()

    def request(self, method, path, body=None, content_type="application/json"):
        """For the test's own use; what is under test goes through base/http."""
        context = ssl.create_default_context(cafile=self.folder / "ca.pem")
        context.load_cert_chain(self.folder / "client.pem", self.folder / "client.key")
        request = urllib.request.Request(self.url + path, method=method,
                                         data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": content_type})
        with urllib.request.urlopen(request, context=context, timeout=60) as reply:
            return reply.read()

    def wait_for_definition(self, name, seconds=180):
        """Until the server serves the objects of this CustomResourceDefinition. `kubectl wait` fails while the definition has no
        conditions."""
        deadline = time.monotonic() + seconds
        while True:
            text = retry(lambda: self.request("GET", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"), seconds)
            conditions = (json.loads(text).get("status") or {}).get("conditions") or []
            if any((one["type"], one["status"]) == ("Established", "True") for one in conditions):
                return
            assert time.monotonic() < deadline, text
            time.sleep(0.1)

    def _wait_until_ready(self, seconds=180):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                self.request("GET", "/readyz")
                self.request("GET", "/api/v1/namespaces/default")
                return
            except (OSError, urllib.error.URLError):
                dead = [p.args[0] for p in self.processes if p.poll() is not None]
                if dead:
                    break
                time.sleep(0.1)
        logs = "\n".join(p.read_text()[-2000:] for p in self.folder.glob("*.log"))
        raise AssertionError(f"the API server did not get ready:\n{logs}")

    def _run(self, name, *command):
        with open(self.folder / f"{name}.log", "wb") as log:
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL))

    def _make_certificates(self):
        def openssl(*words):
            subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

        new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")  # RSA takes a second each
        openssl("req", "-x509", *new_key, "-keyout", "ca.key", "-out", "ca.pem",
                "-subj", "/CN=ratoon test CA", "-days", "2")
        for name, subject, extension in [
            ("server", "/CN=kube-apiserver", "subjectAltName=IP:127.0.0.1,DNS:localhost"),
            ("client", "/O=system:masters/CN=ratoon-test", "extendedKeyUsage=clientAuth"),
        ]:
            (self.folder / f"{name}.ext").write_text(extension)
            openssl("req", *new_key, "-keyout", f"{name}.key", "-out", f"{name}.csr",
                    "-subj", subject)
            openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                    "-out", f"{name}.pem", "-days", "2", "-extfile", f"{name}.ext")

    def close(self):
        for process in self.processes:  # an API server that is asked to end takes ten seconds; nothing of it is kept
            process.kill()
        for process in self.processes:
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
