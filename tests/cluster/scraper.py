"""A Prometheus that scrapes the lab with the configuration that we give to users, and answers what the dashboard asks."""
import json
import re
import socket
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

from lab import ROOT

VARIABLES = re.compile(r"\$\{?(\w+)\}?")


class Scraper:
    def __init__(self, lab):
        self.lab = lab
        folder = lab.folder / "prometheus"
        folder.mkdir()
        text = (ROOT / "docs/operations/prometheus.yaml").read_text()
        # Outside of the cluster, as its comment says, and often enough for a short test.
        text = text.replace("      - role: pod", f"      - role: pod\n        kubeconfig_file: {lab.kubeconfig}")
        text = re.sub(r"scrape_interval: \S+", "scrape_interval: 1s", text)
        text = re.sub(r"scrape_timeout: \S+", "scrape_timeout: 1s", text)
        (folder / "prometheus.yaml").write_text(text)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.log = open(folder / "log", "w")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yaml", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=self.log)

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()

    def ask(self, query):
        """Series of the last quarter of an hour, which is all that the lab lived."""
        now = time.time()
        words = urllib.parse.urlencode({"query": query, "start": now - 900, "end": now, "step": 5})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{self.port}/api/v1/query_range?{words}", timeout=20) as reply:
            return json.load(reply)["data"]["result"]

    def dashboard_queries(self, job):
        dashboard = json.loads((ROOT / "charts/ratoon/dashboards/job.json").read_text())
        values = {"namespace": "default", "job": job, "__rate_interval": "30s", "__range": "15m", "__interval": "5s"}

        def walk(panels):
            for panel in panels:
                yield from (target["expr"] for target in panel.get("targets", []))
                yield from walk(panel.get("panels", []))

        return [VARIABLES.sub(lambda match: values[match[1]], query) for query in walk(dashboard["panels"])]
