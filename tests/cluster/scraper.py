"""A Prometheus that scrapes the lab by the rules that we give to users, and answers what the dashboard asks.

Debian's Prometheus is built without the discovery of pods, so that part alone is ours: a thread writes down what it would
have found, under the same names."""
import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

from lab import ROOT

sys.path.insert(0, str(ROOT / "tests/integration"))
from ports import take_port  # noqa: E402

VARIABLES = re.compile(r"\$\{?(\w+)\}?")
META = "__meta_kubernetes_pod_"


class Scraper:
    def __init__(self, lab):
        self.lab = lab
        self.folder = lab.folder / "prometheus"
        self.folder.mkdir()
        text = (ROOT / "docs/operate/prometheus.yaml").read_text()
        text, found = re.subn(r"kubernetes_sd_configs:\n\s+- role: pod",
                              f"file_sd_configs:\n      - files: [{self.folder}/pods.json]", text)
        assert found == 2, "the configuration has two jobs that discover pods"
        text = re.sub(r"scrape_(interval|timeout): \S+", r"scrape_\1: 1s", text)  # often enough for a short test
        text = text.replace("global:\n", "global:\n  evaluation_interval: 1s\n")
        text += f"\nrule_files: [{ROOT}/charts/ratoon/files/rules.yaml]\n"
        (self.folder / "prometheus.yaml").write_text(text)
        self.port = take_port()
        self.log = open(self.folder / "log", "w")
        self.write_pods()
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={self.folder}/prometheus.yaml", f"--storage.tsdb.path={self.folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=self.log)
        self.is_over = threading.Event()
        self.discovery = threading.Thread(target=self.discover)
        self.discovery.start()

    def stop(self):
        self.is_over.set()
        self.discovery.join()
        self.process.terminate()
        self.process.wait()
        self.log.close()

    def discover(self):
        while not self.is_over.wait(1):
            try:
                self.write_pods()
            except (OSError, ValueError, http.client.HTTPException):
                pass  # the API server answers next time, or to the end

    def write_pods(self):
        found = [target for pod in self.lab.api.get("/api/v1/pods")["items"] if pod["status"].get("podIP")
                 for target in describe(pod)]
        partial = self.folder / "pods.json.partial"
        partial.write_text(json.dumps(found))
        os.replace(partial, self.folder / "pods.json")

    def ask(self, query):
        """Series of the last quarter of an hour, which is all that the lab lived."""
        now = time.time()
        words = urllib.parse.urlencode({"query": query, "start": now - 900, "end": now, "step": 5})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"http://127.0.0.1:{self.port}/api/v1/query_range?{words}", timeout=120) as reply:
                return json.load(reply)["data"]["result"]
        except OSError as error:
            raise AssertionError(f"{query}: {error}\n{(self.folder / 'log').read_text()[-3000:]}") from error

    def dashboard_queries(self, job):
        dashboards = [json.loads(file.read_text()) for file in sorted((ROOT / "charts/ratoon/dashboards").glob("*.json"))]
        values = {"namespace": "default", "job": job, "__rate_interval": "30s", "__range": "15m", "__range_s": "900",
                  "__interval": "5s", "operators": "ratoon-system"}

        def walk(panels):
            for panel in panels:
                yield from (target["expr"] for target in panel.get("targets", []))
                yield from walk(panel.get("panels", []))

        return [VARIABLES.sub(lambda match: values[match[1]], query)
                for dashboard in dashboards for query in walk(dashboard["panels"])]


def describe(pod):
    """A target a port of its containers, or one for a container that has none."""
    def plain(name):
        return re.sub(r"[^a-zA-Z0-9_]", "_", name)

    meta = {"name": pod["metadata"]["name"], "ip": pod["status"]["podIP"], "phase": pod["status"]["phase"],
            "node_name": pod["spec"].get("nodeName", "")}
    for kind in ("label", "annotation"):
        for name, value in pod["metadata"].get(f"{kind}s", {}).items():
            meta |= {f"{kind}_{plain(name)}": value, f"{kind}present_{plain(name)}": "true"}
    for container in pod["spec"]["containers"]:
        for port in container.get("ports", [{}]):
            of_port = {"container_port_name": port["name"], "container_port_number": str(port["containerPort"])} if port else {}
            yield {"targets": [pod["status"]["podIP"]],
                   "labels": {"__meta_kubernetes_namespace": pod["metadata"]["namespace"],
                              **{META + name: value for name, value in (meta | of_port).items()}}}
