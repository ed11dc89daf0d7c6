"""The chart's monitors and rules against the Prometheus Operator's own definitions, on a real API server: it takes all of them
as they are, and refuses a field that the definitions lack."""

import copy
import json
import pathlib
import subprocess
import unittest

import programs
from chart import NAMESPACE, objects

MODULE = "github.com/prometheus-operator/prometheus-operator"
PIN = programs.ROOT / "scripts/packages/schemas/prometheus-operator"
KINDS = ("PodMonitor", "PrometheusRule", "ServiceMonitor")
VALUES = ("--set=monitors.install=true,monitors.labels.release=prometheus,prometheusRule.install=true,"
          "prometheusRule.labels.release=prometheus",)


class Monitors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = programs.Cluster(cls)
        cls.cluster.must("create", "namespace", NAMESPACE)
        done = subprocess.run(["go", "-C", PIN, "mod", "download", "-json", MODULE], check=True, capture_output=True, text=True)
        definitions = pathlib.Path(json.loads(done.stdout)["Dir"]) / "example/prometheus-operator-crd"
        names = [f"{kind.lower()}s" for kind in KINDS]
        for name in names:
            cls.cluster.must("apply", "--server-side", f"--filename={definitions}/monitoring.coreos.com_{name}.yaml")
        for name in names:
            cls.cluster.server.wait_for_definition(f"{name}.monitoring.coreos.com")

    def create(self, document):
        return self.cluster.kubectl("create", f"--namespace={NAMESPACE}", "--dry-run=server", "--validate=strict",
                                    "--filename=-", document=document)

    def test_each_is_accepted_as_it_is_and_refused_with_an_unknown_field(self):
        for values in ((), ("--set=watchNamespace=trees",)):
            made = {kind: item for (kind, _), item in objects(*VALUES, *values).items() if kind in KINDS}
            self.assertEqual(sorted(made), sorted(KINDS))
            for kind, document in made.items():
                with self.subTest(kind, values=values):
                    done = self.create(document)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    wrong = copy.deepcopy(document)
                    wrong["spec"]["nonsense"] = 1
                    self.assertIn("nonsense", self.create(wrong).stderr)


if __name__ == "__main__":
    programs.main("go", "helm", "kubectl", with_server=True)
