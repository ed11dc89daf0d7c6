"""base/http against a real kube-apiserver: client certificate, own CA, a list, and a watch whose events come at once."""

import os
import pathlib
import subprocess
import sys
import unittest

from api_server import ApiServer, missing_programs

PROBE = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin" / "api_probe"


class RealApiServer(unittest.TestCase):
    def test_list_and_watch(self):
        server = ApiServer()
        self.addCleanup(server.close)
        server.start()
        probe = subprocess.Popen([PROBE, server.url, server.folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True)
        self.addCleanup(probe.kill)
        self.addCleanup(probe.stdout.close)
        self.assertRegex(probe.stdout.readline(), r"^namespaces [1-9]")
        self.assertEqual(probe.stdout.readline(), "watching\n")
        for name in ("first", "second", "enough"):
            server.request("POST", "/api/v1/namespaces/default/configmaps",
                           {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
            # Before there is another one: an event that is held back until more have come never comes.
            self.assertEqual(probe.stdout.readline(), f"ADDED {name}\n")
        self.assertEqual(probe.wait(timeout=180), 0)


if __name__ == "__main__":
    if missing := missing_programs():
        print(f"SKIPPED: {', '.join(missing)} not found; scripts/setup --only test builds them (needs Go 1.25)")
        sys.exit(77)
    unittest.main()
