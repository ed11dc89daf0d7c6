"""The scrape configuration of docs/operate: which pods it picks, and at which address. Discovery itself is replaced by
pods made up here, since not every Prometheus is built with it; the rules are Prometheus' own to run."""

import json
import pathlib
import re
import tempfile
import unittest

import programs

CONFIG = programs.ROOT / "docs" / "operate" / "prometheus.yaml"
META = "__meta_kubernetes_pod_"


def pod(name, ip="10.0.0.7", phase="Running", port=None, labels=(), address=None, container_port=None):
    meta = {"name": name, "ip": ip, "phase": phase, "node_name": "n1"}
    if container_port:
        meta |= {"container_port_name": container_port[0], "container_port_number": str(container_port[1])}
    if port:
        meta |= {"annotation_prometheus_io_scrape": "true", "annotation_prometheus_io_port": str(port),
                 "annotation_prometheus_io_path": "/metrics"}
    for label, value in dict(labels).items():
        meta |= {f"label_{label}": value, f"labelpresent_{label}": "true"}
    return {"targets": [address or ip], "labels": {"__meta_kubernetes_namespace": "of-pods",
                                                   **{META + key: value for key, value in meta.items()}}}


MEMBER = {"ratoon_dev_job_name": "digits", "ratoon_dev_role": "worker"}
OPERATOR = {"app_kubernetes_io_name": "ratoon", "app_kubernetes_io_component": "operator"}
PODS = [
    pod("digits-worker-0-i0", "10.0.0.1", port=9400, labels=MEMBER, address="10.0.0.1:8080"),  # a container port is no matter
    pod("digits-worker-1-i0", "fd00::12", port=9400, labels=MEMBER),
    *(pod(f"digits-worker-{index}-i0", ip, port=9400, labels=MEMBER, container_port=container_port)  # a target a port
      for index, ip in ((4, "10.0.0.8"), (5, "fd00::13"))
      for container_port in (("metrics", 9400), ("metrics-1", 9401), ("metrics-12", 9412), ("debug", 8080))),
    pod("digits-worker-2-i0", "10.0.0.3", phase="Failed", port=9400, labels=MEMBER),
    pod("digits-worker-3-i0", "10.0.0.4", labels=MEMBER),
    pod("ratoon-1234", "10.0.0.5", port=9402, labels=OPERATOR),
    pod("other", "10.0.0.6", port=80),
]
EXPECTED = {
    "ratoon-operator": {("ratoon-1234", "10.0.0.5:9402")},
    "ratoon-members": {("digits-worker-0-i0", "10.0.0.1:9400"), ("digits-worker-1-i0", "[fd00::12]:9400"),
                       *(("digits-worker-4-i0", f"10.0.0.8:{port}") for port in (9400, 9401, 9412)),
                       *(("digits-worker-5-i0", f"[fd00::13]:{port}") for port in (9400, 9401, 9412))},
}


class Scrape(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        (cls.config,) = programs.read_yaml(f"{CONFIG.read_text()}\napiVersion: v1\nkind: C\nmetadata: {{name: c}}\n")
        for key in ("apiVersion", "kind", "metadata"):
            del cls.config[key]

    def check(self, *what, more=()):
        config = json.loads(json.dumps(self.config))
        for job in config["scrape_configs"]:
            job["static_configs"] = PODS
            self.assertEqual(job.pop("kubernetes_sd_configs"), [{"role": "pod"}])
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "prometheus.yml"
            file.write_text(json.dumps(config))
            return programs.run("promtool", "check", *what, file, *more)

    def test_it_is_a_configuration(self):
        done = self.check("config")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_no_series_has_a_label_of_its_target(self):
        names = (programs.ROOT / "base/contract/names.h").read_text()
        names = names[names.index("namespace metric_label {"):names.index("}  // namespace metric_label")]
        labels = set(re.findall(r'= "(\w+)"', names))
        self.assertIn("training_job", labels)
        targets = {rule["target_label"] for job in self.config["scrape_configs"] for rule in job["relabel_configs"]
                   if "target_label" in rule}
        self.assertEqual(labels & (targets | {"job", "instance", "namespace", "pod", "container", "endpoint", "service"}), set())

    def test_which_pods_and_where(self):
        self.assertEqual([job["job_name"] for job in self.config["scrape_configs"]], list(EXPECTED))
        for job, expected in EXPECTED.items():
            for seconds in (1, 5, 25):  # for so long promtool collects targets; a busy machine is late with them
                done = self.check("service-discovery", f"--timeout={seconds}s", more=(job,))
                self.assertEqual(done.returncode, 0, done.stderr)
                targets = [each["labels"] for each in json.loads(done.stdout) if each.get("labels")]
                found = {(labels["pod"], labels["__address__"]) for labels in targets}
                if found >= expected:
                    break
            self.assertEqual(found, expected)
            for labels in targets:
                self.assertEqual((labels["__metrics_path__"], labels["node"], labels["namespace"]),
                                 ("/metrics", "n1", "of-pods"))


if __name__ == "__main__":
    programs.main("promtool", "kubectl")
