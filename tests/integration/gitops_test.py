"""Where Helm only renders, as for Argo CD, and where a chart is uninstalled under a running job: the operator makes the
certificate and the way to members by itself, and the next one adopts both."""

import base64
import json
import subprocess
import sys
import unittest

from api_server import missing_programs
from local_run import wait_until
from stand_in_cluster import CERTIFICATE, CHART, NAMESPACE, SLICE, Operator, StandInCluster

SERVICE = f"/api/v1/namespaces/{NAMESPACE}/services/ratoon-coordinator"
ROLE = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/roles/ratoon-leader"


def documents(text):
    """kubectl writes several one after the other."""
    while text.strip():
        document, end = json.JSONDecoder().raw_decode(text.strip())
        yield document
        text = text.strip()[end:]


def missing_in(live, rendered, path=""):
    """Where an object on the server differs from what was rendered. Argo CD shows such an object as OutOfSync."""
    if isinstance(rendered, dict) and isinstance(live, dict):
        return [each for name in rendered for each in missing_in(live.get(name), rendered[name], f"{path}.{name}")]
    if isinstance(rendered, list) and isinstance(live, list) and len(live) == len(rendered):
        return [each for number, value in enumerate(rendered) for each in missing_in(live[number], value, f"{path}[{number}]")]
    return [] if live == rendered else [(path, rendered, live)]


class GitOps(unittest.TestCase):
    def start_operator(self, name):
        number = 1 if name == "one" else 2
        operator = Operator(self, self.cluster, name, number, "--leader-elect")
        operator.keep_running()  # one that stands still for four seconds on a busy machine loses its lease, and ends
        return operator

    def train(self):
        self.cluster.start_job("j", steps=1_000_000)
        self.cluster.wait_for("j", "steps", lambda status: status.get("progress", {}).get("step", 0) > 20)

    def expect_untouched_training(self):
        step = self.cluster.step("j")
        status = self.cluster.wait_for("j", "more steps", lambda now: now["progress"]["step"] > step + 50)
        self.assertEqual((status["attempt"], status["restarts"]["disruption"]), (1, 0), status)

    def objects(self, *verb):
        """Each that Helm rendered, as kubectl shows it."""
        listed = self.cluster.must("kubectl", f"--kubeconfig={self.cluster.admin}", *verb, CHART[-1], "--filename=-",
                                   "--output=json", text=self.cluster.rendered)
        found = [each for document in documents(listed) for each in document.get("items", [document])]
        return {(each["kind"], each["metadata"]["name"]): each for each in found}

    def versions(self):
        return {name: each["metadata"]["resourceVersion"] for name, each in self.objects("get").items()}

    def difference(self):
        done = subprocess.run(["kubectl", f"--kubeconfig={self.cluster.admin}", "diff", CHART[-1], "--filename=-"],
                              input=self.cluster.rendered, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout

    def test_rendered_and_applied_twice_it_trains_and_the_second_time_changes_nothing(self):
        self.cluster = StandInCluster(self, by_template=True)
        self.assertEqual([kind for kind, _ in self.versions() if kind in ("Secret", "EndpointSlice")], [])
        # Without its rights the leader says why members cannot reach it.
        rules = self.cluster.get(ROLE)["rules"]
        kept = [rule for rule in rules if rule["apiGroups"] == ["coordination.k8s.io"]]
        self.cluster.patch(ROLE, {"rules": kept})
        operator = self.start_operator("one")
        self.wait_until_not_ready(operator, "there is no certificate for members: ", "secrets")
        self.cluster.patch(ROLE, {"rules": [*kept, *(rule for rule in rules if "secrets" in rule["resources"])]})
        self.wait_until_not_ready(operator, "members may not find this operator: ", "endpointslices")
        self.cluster.apply()
        self.assertEqual(self.cluster.get(ROLE)["rules"], rules, "what the chart says, again")
        wait_until(operator.is_ready, "readiness")
        self.train()

        secret, versions = self.cluster.get(CERTIFICATE), self.versions()
        self.assertEqual(secret["type"], "kubernetes.io/tls")
        self.cluster.apply()
        self.assertEqual(self.difference(), (0, ""))
        live = self.objects("get")
        for name, rendered in self.objects("create", "--dry-run=client").items():
            self.assertEqual(missing_in(live[name], rendered), [], name)
        self.assertEqual(self.versions(), versions)
        self.assertEqual(self.cluster.get(CERTIFICATE), secret)

        self.cluster.server.request("DELETE", CERTIFICATE)  # by mistake
        self.cluster.server.request("DELETE", SLICE)
        wait_until(lambda: self.find(CERTIFICATE) and self.find(SLICE), "both again")
        self.assertEqual(self.find(CERTIFICATE)["data"], secret["data"])
        self.expect_untouched_training()
        wait_until(lambda: "CertificateRestored" in [event["reason"] for event in self.events()], "the event")
        self.assertNotIn("PRIVATE KEY", operator.said())
        self.assertNotIn(base64.b64decode(secret["data"]["tls.key"]).decode().splitlines()[1], operator.said())

    def wait_until_not_ready(self, operator, *words):
        def says():
            code, text = operator.ask("/readyz") or (0, "")
            return code == 503 and all(word in text for word in words)
        wait_until(says, f"{words}: {operator.ask('/readyz')}")

    def find(self, path):
        try:
            return self.cluster.get(path)
        except OSError:
            return None

    def events(self):
        return self.cluster.get(f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events")["items"]

    def test_a_chart_that_is_installed_again_under_a_running_job_loses_nobody(self):
        self.cluster = StandInCluster(self)
        first = self.start_operator("one")
        self.train()
        kept = [self.cluster.get(path) for path in (SERVICE, CERTIFICATE)]
        self.cluster.helm("uninstall", "ratoon")
        first.close()  # with its account and its rights
        self.assertEqual([self.cluster.get(path) for path in (SERVICE, CERTIFICATE)], kept)
        self.assertIsNotNone(self.find(SLICE))
        self.cluster.helm("install", *CHART)
        self.assertEqual(self.cluster.get(SERVICE)["spec"], kept[0]["spec"], "members call the same address")
        second = self.start_operator("two")
        wait_until(second.is_leading, "the next to lead")
        self.expect_untouched_training()
        self.assertEqual(self.cluster.get(CERTIFICATE), kept[1])


if __name__ == "__main__":
    if missing := missing_programs("helm", "kubectl"):
        print(f"SKIPPED: {', '.join(missing)} not found; scripts/setup --only test builds them (needs Go 1.25)")
        sys.exit(77)
    unittest.main()
