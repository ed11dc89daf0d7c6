"""What the tests beside this file share: the programs they run, YAML as Python values, and an API server of their own."""

import json
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CRD = ROOT / "crds" / "trainingjob.yaml"
SAMPLES = sorted((ROOT / "crds" / "samples").glob("*.yaml"))
CHART = ROOT / "charts" / "ratoon"

sys.path.insert(0, str(ROOT / "tests" / "integration"))
from api_server import ApiServer, missing_programs  # noqa: E402


def main(*programs, with_server=False):
    """Runs the tests of the calling file, or says which programs are missing and skips them."""
    missing = [name for name in programs if shutil.which(name) is None]
    if with_server:
        missing += missing_programs()
    if missing:
        print(f"SKIPPED: {', '.join(missing)} not found; scripts/setup --only test brings them")
        sys.exit(77)
    unittest.main()


def run(*words, text=None):
    return subprocess.run([str(word) for word in words], cwd=ROOT, input=text, capture_output=True, text=True, timeout=180)


def read_yaml(text):
    """The documents of a text, by kubectl, since Python's standard library reads no YAML. Each must have a kind."""
    done = run("kubectl", "patch", "--local", "--filename=-", "--type=merge", "--patch={}", "--output=json", text=text)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    documents, rest, decoder = [], done.stdout.strip(), json.JSONDecoder()
    while rest:
        document, end = decoder.raw_decode(rest)
        documents.append(document)
        rest = rest[end:].lstrip()
    return documents


def job_schema(crd):
    return crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


class Cluster:
    """An API server that kubectl and helm talk to. It has no controllers and no nodes."""

    def __init__(self, test_class):
        server = ApiServer()
        test_class.addClassCleanup(server.close)
        self.server = server.start()
        folder = server.folder
        self.kubeconfig = self.write_kubeconfig("kubeconfig", {"client-certificate": str(folder / "client.pem"),
                                                               "client-key": str(folder / "client.key")})

    def write_kubeconfig(self, name, user, namespace="default"):
        path = self.server.folder / name
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": self.server.url,
                                                      "certificate-authority": str(self.server.folder / "ca.pem")}}],
            "users": [{"name": "test", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": namespace}}]}))
        return path

    def kubeconfig_of(self, account, namespace):
        """Of a service account."""
        token = self.must("create", "token", account, f"--namespace={namespace}").strip()
        return self.write_kubeconfig(f"{account}.kubeconfig", {"token": token}, namespace)

    def wait_for_right(self, user, verb, resource, *words):
        """The server reads new roles and bindings a moment after it has taken them."""
        deadline = time.monotonic() + 180
        while self.kubectl("auth", "can-i", verb, resource, f"--as={user}", *words).stdout.split()[:1] != ["yes"]:
            if time.monotonic() > deadline:
                raise AssertionError(f"{user} may not {verb} {resource} {' '.join(words)}")
            time.sleep(0.1)

    def kubectl(self, *words, document=None):
        return run("kubectl", f"--kubeconfig={self.kubeconfig}", *words,
                   text=None if document is None else json.dumps(document))

    def must(self, *words, document=None):
        done = self.kubectl(*words, document=document)
        if done.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(map(str, words))}: {done.stderr}")
        return done.stdout

    def install_crd(self):
        self.must("apply", "--server-side", f"--filename={CRD}")
        self.server.wait_for_definition("trainingjobs.ratoon.dev")
