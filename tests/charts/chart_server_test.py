"""The chart on a real API server: whether it takes it all, what upgrades keep, and that the chart's rights are those that the
operator needs and no others."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

import kubernetes_schemas
import programs
from chart import NAMESPACE, former_chart, objects, operators_pod, render
from programs import CHART, run

OPERATOR = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin" / "ratoon-operator"
SERVICE = ("service", "ratoon-coordinator", f"--namespace={NAMESPACE}")
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:ratoon"

# (may it, verb, resource, more words)
RIGHTS = [
    *((True, verb, "trainingjobs.ratoon.dev", ["--all-namespaces"])
      for verb in ("get", "list", "watch", "delete")),
    *((False, verb, "trainingjobs.ratoon.dev", []) for verb in ("create", "update", "patch")),
    (True, "patch", "trainingjobs.ratoon.dev", ["--subresource=status"]),
    (False, "update", "trainingjobs.ratoon.dev", ["--subresource=status"]),
    *((True, verb, "pods", ["--all-namespaces"]) for verb in ("get", "list", "watch", "create", "delete")),
    *((False, verb, "pods", []) for verb in ("update", "patch", "deletecollection")),
    (False, "create", "pods", ["--subresource=exec"]),
    (False, "get", "pods", ["--subresource=log"]),
    *((True, verb, "nodes", []) for verb in ("list", "watch")),
    *((False, verb, "nodes", []) for verb in ("update", "patch", "delete")),
    (True, "create", "events.events.k8s.io", []), (True, "patch", "events", []), (True, "get", "persistentvolumeclaims", []),
    *((False, verb, "persistentvolumeclaims", []) for verb in ("list", "watch", "patch", "delete")),
    (True, "create", "tokenreviews.authentication.k8s.io", []),
    (True, "update", "trainingjobs.ratoon.dev", ["--namespace=default", "--subresource=finalizers"]),
    (True, "create", "endpointslices.discovery.k8s.io", [f"--namespace={NAMESPACE}", "--subresource=restricted"]),
    (False, "get", "services/ratoon-coordinator", [f"--namespace={NAMESPACE}"]),
    (False, "list", "services", [f"--namespace={NAMESPACE}"]),
    *((False, verb, "secrets", words) for verb in ("get", "list", "patch") for words in ([], [f"--namespace={NAMESPACE}"])),
    *((True, verb, "secrets/ratoon-certificate", [f"--namespace={NAMESPACE}"]) for verb in ("get", "patch")),
    *((False, verb, "secrets/ratoon-certificate", [f"--namespace={NAMESPACE}"]) for verb in ("update", "delete")),
    (True, "create", "secrets", [f"--namespace={NAMESPACE}"]), (False, "create", "secrets", ["--namespace=default"]),
    (False, "get", "configmaps", []),
    (False, "create", "serviceaccounts", ["--subresource=token"]),
    *((True, verb, "leases.coordination.k8s.io/ratoon", [f"--namespace={NAMESPACE}"]) for verb in ("get", "patch")),
    (True, "create", "leases.coordination.k8s.io", [f"--namespace={NAMESPACE}"]),
    *((False, verb, "leases.coordination.k8s.io/another", [f"--namespace={NAMESPACE}"]) for verb in ("get", "patch")),
    *((False, verb, "leases.coordination.k8s.io/ratoon", [f"--namespace={NAMESPACE}"]) for verb in ("update", "delete")),
    *((False, verb, "leases.coordination.k8s.io", ["--namespace=default"]) for verb in ("create", "get", "patch")),
    *((True, verb, f"endpointslices.discovery.k8s.io/ratoon-coordinator-{family}", [f"--namespace={NAMESPACE}"])
      for verb in ("get", "patch") for family in ("ipv4", "ipv6")),
    (True, "create", "endpointslices.discovery.k8s.io", [f"--namespace={NAMESPACE}"]),
    (False, "create", "endpointslices.discovery.k8s.io", ["--namespace=default"]),
    *((False, verb, "endpointslices.discovery.k8s.io", [f"--namespace={NAMESPACE}"])
      for verb in ("get", "list", "patch", "delete")),
]

# (may whoever edits, may whoever views, verb, more words)
USERS = [
    *((True, True, verb, []) for verb in ("get", "list", "watch")),
    *((True, False, verb, []) for verb in ("create", "update", "patch", "delete", "deletecollection")),
    (True, True, "get", ["--subresource=status"]),
    *((False, False, verb, ["--subresource=status"]) for verb in ("update", "patch")),
    (True, True, "get", ["--subresource=scale"]),
    *((True, False, verb, ["--subresource=scale"]) for verb in ("update", "patch")),
]


class OnAServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = programs.Cluster(cls)
        cls.cluster.must("create", "namespace", NAMESPACE)
        cls.done = cls.helm("install", "ratoon", CHART)
        if cls.done.returncode != 0:
            raise AssertionError(cls.done.stderr)
        cls.cluster.server.wait_for_definition("trainingjobs.ratoon.dev")

    @classmethod
    def helm(cls, *words):
        return run("helm", f"--kubeconfig={cls.cluster.kubeconfig}", f"--namespace={NAMESPACE}", *words)

    def test_notes_name_commands_that_are_right(self):
        self.assertIn(f"kubectl --namespace {NAMESPACE} rollout status deployment/ratoon", self.done.stdout)
        for line in self.done.stdout.splitlines():
            if "kubectl apply" in line:
                words = [word if "/" not in word else str(programs.ROOT / word) for word in line.split()[1:]]
                self.cluster.must(*words, "--dry-run=server")

    def test_an_upgrade_changes_the_definition_and_an_uninstall_keeps_it(self):
        self.addCleanup(self.helm, "install", "ratoon", CHART)
        upgraded = self.helm("upgrade", "ratoon", CHART)
        self.assertEqual(upgraded.returncode, 0, upgraded.stderr)
        gone = self.helm("uninstall", "ratoon")
        self.assertEqual(gone.returncode, 0, gone.stderr)
        self.cluster.must("get", "crd", "trainingjobs.ratoon.dev")
        self.assertEqual(self.cluster.must("get", "clusterroles", "--selector=app.kubernetes.io/name=ratoon",
                                           "--output=name"), "")

    def test_an_uninstallation_keeps_the_address_that_members_call(self):
        before = self.read(*SERVICE)
        for verb, *words in (["uninstall"], ["install", CHART]):
            self.must_helm(verb, "ratoon", *words)
            after = self.read(*SERVICE)
            self.assertEqual((after["metadata"]["uid"], after["spec"]), (before["metadata"]["uid"], before["spec"]), verb)

    def test_policies_and_all_else_are_taken_by_the_server(self):
        for namespace in ("grove", "forest"):
            self.cluster.must("create", "namespace", namespace)
        done = self.helm("upgrade", "ratoon", CHART, "--dry-run=server", "--set=networkPolicy.install=true",
                         "--set=networkPolicy.memberNamespaces={grove,forest}")
        self.assertEqual(done.returncode, 0, done.stderr)
        made = render("--set=networkPolicy.install=true,networkPolicy.memberNamespaces={grove,forest}",
                      "--show-only=templates/network_policies.yaml").stdout
        for policy in programs.read_yaml(made):
            self.cluster.must("create", "--dry-run=server", "--validate=strict", "--filename=-", document=policy)
        policy["spec"]["ingress"][0]["form"] = []
        self.assertIn("form", self.cluster.kubectl("create", "--dry-run=server", "--validate=strict", "--filename=-",
                                                   document=policy).stderr)

    def test_what_helm_test_does_is_allowed_and_waits_for_operators(self):
        """No kubelet runs its pod here: the operator's program runs as its account."""
        made = objects()
        hooks = {kind: each for (kind, _), each in made.items()
                 if each["metadata"].get("annotations", {}).get("helm.sh/hook") == "test"}
        self.assertEqual(hooks.keys(), {"ServiceAccount", "Role", "RoleBinding", "Pod"})
        (container,) = hooks["Pod"]["spec"]["containers"]
        self.assertEqual(container["image"], operators_pod(made)["containers"][0]["image"])
        for kind in ("ServiceAccount", "Role", "RoleBinding"):
            self.cluster.must("create", "--filename=-", document=hooks[kind])
            self.addCleanup(self.cluster.must, "delete", kind, "ratoon-test", f"--namespace={NAMESPACE}")
        account = self.cluster.kubeconfig_of("ratoon-test", NAMESPACE)
        self.cluster.wait_for_right(f"system:serviceaccount:{NAMESPACE}:ratoon-test", "get", "deployments.apps/ratoon",
                                    f"--namespace={NAMESPACE}")
        check = subprocess.Popen([OPERATOR, f"--kubeconfig={account}", *container["args"]], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
        self.addCleanup(check.kill)
        now = "2026-01-01T00:00:00Z"
        self.cluster.must("patch", "deployment", "ratoon", f"--namespace={NAMESPACE}", "--subresource=status", "--type=merge",
                          "--patch", json.dumps({"status": {"conditions": [{
                              "type": "Available", "status": "True", "reason": "a", "message": "a", "lastUpdateTime": now,
                              "lastTransitionTime": now}]}}))
        self.cluster.must("create", "--filename=-", document={
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"holderIdentity": "one"},
            "metadata": {"name": "ratoon", "namespace": NAMESPACE}})
        self.addCleanup(self.cluster.must, "delete", "lease", "ratoon", f"--namespace={NAMESPACE}")
        said, _ = check.communicate(timeout=180)
        self.assertEqual((check.returncode, said),
                         (0, "Deployment ratoon is available, an operator leads, and the API server accepts a TrainingJob.\n"))
        self.assertEqual(self.cluster.must("get", "tj", f"--namespace={NAMESPACE}", "--output=name"), "", "it was a dry run")

    def test_an_upgrade_from_the_former_chart_and_a_way_back_leave_jobs_and_what_members_trust(self):
        self.assertEqual(self.helm("uninstall", "ratoon").returncode, 0)
        self.addCleanup(self.helm, "upgrade", "--install", "ratoon", CHART)
        job, *_ = [each for each in programs.read_yaml((programs.ROOT / "crds/samples/digits.yaml").read_text())
                   if each["kind"] == "TrainingJob"]
        with tempfile.TemporaryDirectory() as folder:
            former = former_chart(pathlib.Path(folder))
            # Helm cannot roll back to a chart that rendered the Secret, which has been kept.
            has_secret = (former / "templates/certificate.yaml").exists()
            back = ["upgrade", "ratoon", former] if has_secret else ["rollback", "ratoon", "1"]
            self.must_helm("install", "ratoon", former, "--set=podLabels.kept=yes")
            self.cluster.must("create", "--namespace=default", "--filename=-", document=job)
            self.addCleanup(self.cluster.must, "delete", "tj", "digits", "--namespace=default")
            self.cluster.must("patch", "tj", "digits", "--namespace=default", "--subresource=status", "--type=merge",
                              "--patch", json.dumps({"status": {"phase": "Running", "attempt": 3}}))
            before = self.what_a_running_job_uses()
            self.must_helm("upgrade", "ratoon", CHART, "--reset-then-reuse-values")
            self.assertEqual(self.what_a_running_job_uses(), before)
            self.assertEqual(self.read("deployment", "ratoon", f"--namespace={NAMESPACE}")["spec"]["template"],
                             self.defaulted(objects("--set=podLabels.kept=yes")["Deployment", "ratoon"])["spec"]["template"])
            for words in (back, ["upgrade", "ratoon", CHART, "--reset-then-reuse-values"]):
                self.must_helm(*words)
                self.assertEqual(self.what_a_running_job_uses(), before)

    def what_a_running_job_uses(self):
        job, service = self.read("tj", "digits", "--namespace=default"), self.read(*SERVICE)
        secrets = self.read("secrets", f"--namespace={NAMESPACE}")["items"]
        return (job["metadata"]["uid"], job["spec"], job["status"], service["metadata"]["uid"], service["spec"],
                [each["data"] for each in secrets if each["type"] == "kubernetes.io/tls"])

    def read(self, *what):
        return json.loads(self.cluster.must("get", *what, "--output=json"))

    def defaulted(self, document):
        """As the server stores it."""
        document["metadata"]["name"] += "-defaulted"
        return json.loads(self.cluster.must("create", "--dry-run=server", "--filename=-", "--output=json", document=document))

    def must_helm(self, *words):
        done = self.helm(*words)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_operators_rights(self):
        for may, verb, resource, words in RIGHTS:
            with self.subTest(f"{verb} {resource} {' '.join(words)}"):
                done = self.cluster.kubectl("auth", "can-i", verb, resource, *words, f"--as={ACCOUNT}")
                self.assertEqual(done.stdout.split()[:1], ["yes" if may else "no"], done.stderr)

    def test_the_server_serves_the_operator_with_its_own_controllers(self):
        schemas = {each["metadata"]["uid"]: each["metadata"]["name"]
                   for each in json.loads(self.cluster.must("get", "flowschemas", "--output=json"))["items"]}

        def served_by(account, *words):
            done = self.cluster.kubectl("get", *words, f"--as={account}", f"--namespace={NAMESPACE}", "--v=8")
            # It looks around first; the last call is the one.
            return schemas[re.findall(r"X-Kubernetes-Pf-Flowschema-Uid: (\S+)", done.stderr)[-1]]

        self.assertEqual(served_by(ACCOUNT, "trainingjobs.ratoon.dev"), f"{NAMESPACE}-ratoon-jobs")
        self.assertEqual(served_by(ACCOUNT, "leases"), f"{NAMESPACE}-ratoon-lease")
        self.assertEqual(served_by(ACCOUNT.rpartition(":")[0] + ":another", "leases"), "service-accounts")

    def test_whoever_edits_a_namespace_edits_and_scales_its_jobs(self):
        # The server's own roles are put together by a controller, of which there is none here.
        roles = {name: f"{NAMESPACE}-ratoon-{name}" for name in ("view", "edit")}
        for role, given in (("edit", roles.values()), ("view", [roles["view"]])):
            labels = {name: json.loads(self.cluster.must("get", "clusterrole", name, "--output=json"))["metadata"]["labels"]
                      for name in roles.values()}
            self.assertEqual([name for name in labels if labels[name].get(f"rbac.authorization.k8s.io/aggregate-to-{role}")],
                             list(given))
            for name in given:
                self.cluster.must("create", "rolebinding", f"{role}s-{name}", f"--clusterrole={name}", f"--user={role}",
                                  "--namespace=default")
        for user, verb in (("edit", "create"), ("view", "get")):
            self.cluster.wait_for_right(user, verb, "trainingjobs.ratoon.dev", "--namespace=default")
        for edits, views, verb, words in USERS:
            for user, may in (("edit", edits), ("view", views)):
                with self.subTest(f"{user}: {verb} {' '.join(words)}"):
                    done = self.cluster.kubectl("auth", "can-i", verb, "trainingjobs.ratoon.dev", *words, f"--as={user}",
                                                "--namespace=default")
                    self.assertEqual(done.stdout.split()[:1], ["yes" if may else "no"], done.stderr)

    def test_pods_keep_the_strictest_of_the_standard_rules(self):
        self.cluster.must("label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted", "--overwrite")
        self.cluster.must("create", "serviceaccount", "default", f"--namespace={NAMESPACE}")  # no controller makes it here
        deployment = objects()["Deployment", "ratoon"]
        pods = {"operator": deployment["spec"]["template"]}
        for path in programs.SAMPLES:
            for job in programs.read_yaml(path.read_text()):
                for role in job["spec"].get("roles", []):
                    pods[path.name] = role["template"]

        def create(pod):
            return self.cluster.kubectl("create", f"--namespace={NAMESPACE}", "--dry-run=server", "--filename=-", document={
                "apiVersion": "v1", "kind": "Pod", **pod, "metadata": {"name": "pod"}})

        for title, pod in pods.items():
            with self.subTest(title):
                done = create(pod)
                self.assertEqual(done.returncode, 0, done.stderr)
                done = create({"spec": {**pod["spec"], "hostNetwork": True}})
                self.assertIn("violates PodSecurity", done.stderr)

    def test_kubeconform(self):
        with tempfile.TemporaryDirectory() as folder:
            def check(text):
                return run("kubeconform", "-strict", "-summary", "-schema-location", location, "-", text=text)

            deadline = time.monotonic() + 180
            while True:  # another test may have changed the definition, which the server publishes a moment later
                openapi = json.loads(self.cluster.server.request("GET", "/openapi/v2"))
                location = kubernetes_schemas.write(openapi, pathlib.Path(folder))
                if all(check(path.read_text()).returncode == 0 for path in programs.SAMPLES) or time.monotonic() > deadline:
                    break
                time.sleep(1)
            chart = check(render("--set=networkPolicy.install=true,networkPolicy.memberNamespaces={grove}").stdout)
            self.assertEqual(chart.returncode, 0, chart.stdout)
            for path in programs.SAMPLES:
                sample = check(path.read_text())
                self.assertEqual(sample.returncode, 0, sample.stdout)
                wrong = check(path.read_text().replace("spec:\n", "spec:\n  nonsense: 1\n", 1))
                self.assertIn("nonsense", wrong.stdout)


if __name__ == "__main__":
    programs.main("helm", "kubectl", "kubeconform", with_server=True)
