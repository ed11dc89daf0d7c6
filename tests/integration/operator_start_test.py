"""ratoon-operator before any API server answers: what it logs, in which of its two forms, and what it says of itself."""

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from api_server import has_ipv6
from ports import take_port

BIN = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin"


class Start(unittest.TestCase):
    @contextlib.contextmanager
    def operator(self, *flags):
        """Its process; nobody is at the address of its API server."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as kubeconfig:
            json.dump({"current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
                       "clusters": [{"name": "a", "cluster": {"server": f"http://127.0.0.1:{take_port()}"}}],
                       "users": [{"name": "a", "user": {}}]}, kubeconfig)
            kubeconfig.flush()
            self.probe_port = take_port()
            process = subprocess.Popen(
                [BIN / "ratoon-operator", f"--kubeconfig={kubeconfig.name}", "--advertise-url=http://127.0.0.1:1",
                 "--no-leader-elect", f"--coordinator-port={take_port()}", f"--metrics-port={take_port()}",
                 f"--probe-port={self.probe_port}", *flags],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            try:
                yield process
            finally:
                process.terminate()
                process.communicate(timeout=180)
            self.assertEqual(process.returncode, 0, "SIGTERM while it waits is no error")

    def test_its_log_is_json_lines_unless_people_are_to_read_it(self):
        for flags in ([], ["--json-log"], ["--text-log", "--json-log"]):
            with self.operator(*flags) as process:
                line = json.loads(process.stderr.readline())
                self.assertLessEqual({"time", "level", "message"}, set(line), flags)
        with self.operator("--text-log") as process:
            self.assertRegex(process.stderr.readline(), r"^\d\d:\d\d:\d\d\.\d{3} (info|warn)  ?\w")

    def test_it_lives_and_is_not_ready_and_says_why(self):
        with self.operator():
            self.assertEqual(self.ask("/healthz"), (200, "ok\n"))
            self.assertEqual(self.ask("/readyz"), (503, "this operator waits for its first lists of jobs, pods and nodes, "
                                                     "or is shutting down\n"))

    @unittest.skipUnless(has_ipv6(), "no IPv6 on loopback here")
    def test_pods_that_have_only_ipv6_reach_it(self):
        with self.operator():
            self.assertEqual(self.ask("/healthz", host="[::1]"), (200, "ok\n"))
            self.assertEqual(self.ask("/healthz"), (200, "ok\n"))

    def ask(self, path, host="127.0.0.1"):
        deadline = time.monotonic() + 180
        while True:
            try:
                with urllib.request.urlopen(f"http://{host}:{self.probe_port}{path}", timeout=5) as reply:
                    return reply.status, reply.read().decode()
            except urllib.error.HTTPError as error:
                return error.code, error.read().decode()
            except OSError:
                self.assertLess(time.monotonic(), deadline, "the operator does not answer")
                time.sleep(0.02)


if __name__ == "__main__":
    unittest.main()
