"""What the operator tells of a job that loses a member and of one whose trainer fails, read by a real Prometheus with the
chart's rules: the records have these jobs, and only the alerts that such a run is to have fire."""

import json
import signal
import subprocess
import sys
import unittest
import urllib.error
import urllib.parse
import urllib.request

from api_server import missing_programs
from local_run import wait_until
from ports import take_port
from stand_in_cluster import NAMESPACE, ROOT, Operator, StandInCluster

FIRED = 'count by (alertname, training_job) (last_over_time(ALERTS{alertstate="firing"}[1h]))'
EXPECTED = {("RatoonJobFailed", "broken"), ("RatoonTrainerFails", "broken")}


class Prometheus:
    """Reads one operator each second."""

    def __init__(self, test, folder, target):
        self.port = take_port()
        config = folder / "prometheus.json"
        config.write_text(json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(ROOT / "charts/ratoon/files/rules.yaml")],
            "scrape_configs": [{"job_name": "operator", "static_configs": [
                {"targets": [target], "labels": {"namespace": NAMESPACE, "pod": "one"}}]}]}))
        self.log = folder / "prometheus.log"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/prometheus",
                 f"--web.listen-address=127.0.0.1:{self.port}"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        test.addCleanup(self.close)

    def ask(self, query):
        """[(labels, value)], of now; nothing where it does not answer yet."""
        words = urllib.parse.urlencode({"query": query})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"http://127.0.0.1:{self.port}/api/v1/query?{words}", timeout=60) as reply:
                return [(each["metric"], float(each["value"][1])) for each in json.load(reply)["data"]["result"]]
        except urllib.error.HTTPError as error:
            if error.code == 503:  # it starts
                return []
            raise AssertionError(f"{query}: {error.read().decode()}") from error
        except OSError:
            return []

    def fired(self):
        return {(labels["alertname"], labels.get("training_job", "")) for labels, _ in self.ask(FIRED)}

    def close(self):
        self.process.kill()
        self.process.wait()


class Alerts(unittest.TestCase):
    def test_a_loss_fires_nothing_and_a_trainer_that_fails_what_it_should(self):
        cluster = StandInCluster(self)
        operator = Operator(self, cluster, "one", 1, "--all-namespaces")
        prometheus = Prometheus(self, cluster.folder, f"127.0.0.1:{operator.metrics_port}")

        def wait_for_series(query):
            try:
                return wait_until(lambda: prometheus.ask(query), query)
            except AssertionError as error:
                raise AssertionError(f"{error}\n{prometheus.fired()}\n{cluster.logs()}") from None

        cluster.start_job("lossy", steps=1000000, disruptionPolicy={"suspectAfterSeconds": 10})
        cluster.wait_for("lossy", "a step", lambda status: status.get("progress", {}).get("step", 0) > 0)
        wait_for_series('ratoon_restarts_total{training_job="lossy"}')  # a counter that was not seen before shows no increase
        cluster.kubelet.process_of("lossy-worker-0-i0").send_signal(signal.SIGSTOP)
        trainer = {"name": "trainer", "image": "example.org/broken:1", "command": ["/bin/false"]}
        cluster.start_job("broken", steps=0, roles=[{"name": "worker", "template": {"spec": {"containers": [trainer]}}}],
                          restartPolicy={"maxRestarts": 10, "backoffSeconds": 1, "backoffMaxSeconds": 1})
        cluster.wait_for("broken", "its end", lambda status: status.get("phase") == "Failed")
        for record in ('job:ratoon_restarts:increase15m{training_job="lossy",cause="disruption"} > 0',
                       'job:ratoon_job_ledger_seconds:rate5m{training_job="lossy",part="useful"} > 0',
                       'job:ratoon_job_ledger_seconds:rate5m{training_job="lossy",part="restarting"} > 0',
                       'job:ratoon_job_world_size:max{training_job="lossy"} == 2',
                       'job:ratoon_job_step:max{training_job="lossy"} > 0',
                       'job:ratoon_job_durable_step:max{training_job="lossy"} > 0',
                       'job:ratoon_goodput:ratio1h{training_job="lossy"} > 0',
                       'job:ratoon_process_seconds:rate5m{training_job="lossy",part="useful"} > 0',
                       'fleet:ratoon_jobs:sum{phase="Running"} == 1', 'fleet:ratoon_losses:increase1h{cause="disruption"} > 0',
                       "fleet:ratoon_goodput:ratio5m > 0"):
            wait_for_series(record)
        wait_until(lambda: prometheus.fired() >= EXPECTED, f"{EXPECTED}")
        self.assertEqual(prometheus.fired(), EXPECTED)
        cluster.wait_for("lossy", "to run", lambda status: status["phase"] == "Running")
        # Last, since an alert would follow after two minutes.
        trainer |= {"volumeMounts": [{"name": "of-no-volume", "mountPath": "/a"}]}
        cluster.start_job("refused", steps=0, roles=[{"name": "worker", "template": {"spec": {"containers": [trainer]}}}])
        for reason in ("TemplateRefused", "PodRefused"):
            wait_for_series(f'job:ratoon_job_problem:max{{training_job="refused",reason="{reason}"}} == 1')
        self.assertEqual(prometheus.ask('ratoon_job_problem{training_job!="refused"}'), [])


if __name__ == "__main__":
    if missing := missing_programs("helm", "kubectl", "prometheus"):
        print(f"SKIPPED: {', '.join(missing)} not found; scripts/setup --only test brings them")
        sys.exit(77)
    unittest.main()
