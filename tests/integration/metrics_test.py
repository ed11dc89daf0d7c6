"""/metrics of each process of a local run, as Prometheus reads it: over HTTP, at the port that status.json and `ratoon status`
name."""

import http.client
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import unittest
import urllib.request

from local_run import BIN, LocalRun, wait_until

IDLE = 200
PLACES = 64  # of connections; a process keeps fewer


def scrape(port):
    """[(name, {label: value}, number)]"""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as page:
        assert page.headers["Content-Type"].startswith("text/plain; version=0.0.4"), page.headers
        text = page.read().decode()
    return [(name, dict(re.findall(r'(\w+)="([^"]*)"', labels)), float(value)) for name, labels, value in
            re.findall(r"^(\w+)\{(.*)\} (\S+)$", text, re.MULTILINE)]


def run_ratoon(*words):
    return subprocess.run([BIN / "ratoon", *words], check=True, capture_output=True, text=True).stdout


def values(series, name):
    """{cause or phase: number}, or the number alone."""
    found = {labels.get("cause", ""): number for one, labels, number in series if one == name}
    return found[""] if list(found) == [""] else found


class Metrics(unittest.TestCase):
    def start(self, spec=None, environment=None):
        words = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-words-"))
        self.addCleanup(shutil.rmtree, words, ignore_errors=True)  # a member that is being killed may still write
        command = ["drain_probe", "--agree", str(words), "--steps", "1000000", "--pause-ms", "5"]
        run = LocalRun("metrics", {"numNodes": 2, "processesPerNode": 2, **(spec or {})}, command)
        self.addCleanup(run.close)
        if environment:
            run.document["spec"]["roles"][0]["template"]["spec"]["containers"][0]["env"] = environment
            run.write_job()
        run.start()
        return run

    def ports(self, run, attempt=1):
        """{member: [port]} of a world that trains in that attempt, once each process answers."""
        def look():
            found = {m["name"]: m["metrics_ports"] for m in run.status()["members"] if m.get("metrics_ports")}
            pages = [scrape(port) for ports in found.values() for port in ports]
            return found if len(pages) == 4 and all(values(p, "ratoon_attempt") == attempt for p in pages) and all(
                values(p, "ratoon_step") > 0 for p in pages) else None

        def try_to_look():
            try:
                return look()
            except (OSError, http.client.HTTPException):
                return None  # a process that has not begun to train, or ends in the middle of its answer
        return wait_until(try_to_look, f"four processes that train in attempt {attempt}")

    def test_each_process_has_a_port_and_shows_the_run(self):
        run = self.start()
        ports = self.ports(run)
        self.assertEqual(len({port for some in ports.values() for port in some}), 4, ports)
        version = run_ratoon("--version").split()[1]
        for member, some in ports.items():
            for local_rank, port in enumerate(some):
                series = scrape(port)
                ((_, labels, number),) = [one for one in series if one[0] == "ratoon_build_info"]
                self.assertEqual((labels["version"], labels["contract"], number), (version, "1", 1))
                self.assertEqual(f"metrics-worker-{labels['index']}-i0", member)
                self.assertEqual(labels["local_rank"], str(local_rank))
                # An epoch has 1666 steps and more. The step may be that of a moment before.
                self.assertLessEqual(values(series, "ratoon_epoch"), values(series, "ratoon_step") // 1600)
                self.assertEqual(values(series, "ratoon_run_losses_total"), {"disruption": 0, "application": 0, "hung": 0})
        shown = run_ratoon("status", run.folder)
        for member, (first, last) in ports.items():
            self.assertRegex(shown, rf"{member} +Running +127\.0\.0\.1:{first}-{last}\n")
        run.hurt(1)
        again = self.ports(run, attempt=2)
        self.assertEqual(sorted(again), ["metrics-worker-0-i0", "metrics-worker-1-i1"])
        self.assertEqual(again["metrics-worker-0-i0"], ports["metrics-worker-0-i0"], "it was not started again")
        for port in [port for some in again.values() for port in some]:
            self.assertEqual(values(scrape(port), "ratoon_run_losses_total"), {"disruption": 1, "application": 0, "hung": 0})

    def test_a_scraper_is_answered_beside_clients_that_send_nothing_or_half_a_request(self):
        run = self.start()
        port = self.ports(run)["metrics-worker-0-i0"][0]
        pid = run.pids_of(0)[0]
        before = len(os.listdir(f"/proc/{pid}/fd"))
        clients = []
        self.addCleanup(lambda: [client.close() for client in clients])
        half = b"GET /metrics HTTP/1.1\r\nHost: t\r\nX: "
        half_a_body = b"POST /metrics HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\n{"
        for words in (b"", half, half_a_body):
            for _ in range(IDLE):
                client = socket.create_connection(("127.0.0.1", port))
                clients.append(client)
                try:
                    client.sendall(words)
                except OSError:
                    pass  # it has lost its place already
            self.assertGreater(values(scrape(port), "ratoon_step"), 0, words)
        wait_until(lambda: len(os.listdir(f"/proc/{pid}/fd")) <= before + PLACES, "few descriptors")

    def test_the_users_port_is_the_first_one(self):
        run = self.start()
        free = max(port for some in self.ports(run).values() for port in some) + 1
        run.process.terminate()
        run.finish()
        for _ in range(10):  # the runs of other tests may hold one of these ports
            named = self.start(environment=[{"name": "RATOON_METRICS_PORT", "value": str(free)}])
            ports = sorted(port for some in self.ports(named).values() for port in some)
            if ports == list(range(free, free + 4)):
                return
            self.assertGreaterEqual(ports[0], free, "no port is lower than the named one")
            named.process.terminate()
            named.finish()
            free = ports[-1] + 1
        self.fail(f"none of ten runs got four ports in a row from the named one, the last one {ports}")

    def test_a_user_who_wants_no_port_gets_none(self):
        run = self.start(environment=[{"name": "RATOON_METRICS_PORT", "value": "0"}])
        run.wait_for_commit(10)
        self.assertTrue(run.status()["members"])
        self.assertFalse(any("metrics_ports" in m for m in run.status()["members"]))
        shown = run_ratoon("status", run.folder)
        self.assertNotIn("METRICS", shown)


if __name__ == "__main__":
    unittest.main()
