"""The laws of what operators write, over a real kube-apiserver: the same program and the same worlds as in memory, with the
server's own rules about versions, UIDs, names, schemas and deletions."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

from api_server import ApiServer, missing_programs, retry

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAWS = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin" / "writes_laws_test"
TESTS = "WritesLaws.HoldOverAServerThatIsInTheWay:WritesLaws.HoldForProgramsWithoutTheAgent"


def start_server(test):
    """With the definition of jobs, and without what only a controller would take away again. Its kubeconfig."""
    server = ApiServer()
    test.addCleanup(server.close)
    server.start("--disable-admission-plugins=TaintNodesByCondition")
    kubeconfig = server.folder / "kubeconfig"
    kubeconfig.write_text(json.dumps({
        "current-context": "test", "contexts": [{"name": "test", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server.url, "certificate-authority": "ca.pem"}}],
        "users": [{"name": "u", "user": {"client-certificate": "client.pem", "client-key": "client.key"}}]}))
    subprocess.run(["kubectl", f"--kubeconfig={kubeconfig}", "create", "-f", ROOT / "crds" / "trainingjob.yaml"], check=True,
                   capture_output=True)
    server.wait_for_definition("trainingjobs.ratoon.dev")
    retry(lambda: server.request("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}}))
    retry(lambda: server.request("GET", "/apis/ratoon.dev/v1alpha1/trainingjobs"))
    return kubeconfig


class RealServer(unittest.TestCase):
    def test_the_laws_hold(self):
        kubeconfig = start_server(self)
        environment = {"RATOON_SEEDS": "10", **os.environ, "RATOON_API_SERVER": str(kubeconfig)}
        subprocess.run([LAWS, f"--gtest_filter={TESTS}"], check=True, env=environment)


def main():
    if missing := missing_programs("kubectl"):
        print(f"SKIPPED: {', '.join(missing)} not found; scripts/setup --only test builds them (needs Go 1.25)")
        sys.exit(77)
    unittest.main()


if __name__ == "__main__":
    main()
