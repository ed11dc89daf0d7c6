"""The chart: what it makes, which values it refuses, whether an API server takes it all, and that its rights are those
that the operator needs and no others."""

import base64
import json
import pathlib
import re
import tempfile
import unittest

import kubernetes_schemas
import programs
from chart_values import BAD_VALUES, OTHER_VALUES, leaves
from programs import CHART, run

NAMESPACE = "trees"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:ratoon"

# (may it, verb, resource, more words)
RIGHTS = [
    *((True, verb, "trainingjobs.ratoon.dev", ["--all-namespaces"])
      for verb in ("list", "watch", "delete")),
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
    (False, "get", "services/ratoon-coordinator", [f"--namespace={NAMESPACE}"]),
    (False, "list", "services", [f"--namespace={NAMESPACE}"]),
    *((False, verb, "secrets", []) for verb in ("get", "list")),
    (False, "get", "configmaps", []),
    (False, "create", "serviceaccounts", ["--subresource=token"]),
    *((True, verb, "leases.coordination.k8s.io/ratoon", [f"--namespace={NAMESPACE}"]) for verb in ("get", "patch")),
    (True, "create", "leases.coordination.k8s.io", [f"--namespace={NAMESPACE}"]),
    *((False, verb, "leases.coordination.k8s.io/another", [f"--namespace={NAMESPACE}"]) for verb in ("get", "patch")),
    *((False, verb, "leases.coordination.k8s.io/ratoon", [f"--namespace={NAMESPACE}"]) for verb in ("update", "delete")),
    *((False, verb, "leases.coordination.k8s.io", ["--namespace=default"]) for verb in ("create", "get", "patch")),
    *((True, verb, f"endpointslices.discovery.k8s.io/ratoon-coordinator-{family}", [f"--namespace={NAMESPACE}"])
      for verb in ("get", "patch") for family in ("ipv4", "ipv6")),
    *((False, verb, "endpointslices.discovery.k8s.io", [f"--namespace={NAMESPACE}"])
      for verb in ("create", "get", "list", "patch", "delete")),
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


def render(*words):
    return run("helm", "template", "ratoon", CHART, f"--namespace={NAMESPACE}", "--kube-version=1.35.0", *words)


def objects(*words):
    """{(kind, name): object}"""
    done = render(*words)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return {(each["kind"], each["metadata"]["name"]): each for each in programs.read_yaml(done.stdout)}


def operators_pod(made):
    return made["Deployment", "ratoon"]["spec"]["template"]["spec"]


def without_secrets(text):
    """A certificate is made anew with each rendering."""
    return re.sub(r"^  ((ca|tls)\.(crt|key)): \S+$", r"  \1", text, flags=re.MULTILINE)


def expect_good(test, data, name):
    """As OpenSSL sees it: a server's certificate, for that name and for years, signed by that authority."""
    with tempfile.TemporaryDirectory() as folder:
        for file, text in data.items():
            pathlib.Path(folder, file).write_bytes(base64.b64decode(text))
        tls = pathlib.Path(folder, "tls.crt")
        done = run("openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname", name, "-CAfile",
                   f"{folder}/ca.crt", tls)
        test.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        test.assertEqual(run("openssl", "x509", "-in", tls, "-noout", "-checkend", str(5 * 365 * 86400)).returncode, 0)
        keys = {run("openssl", *words).stdout for words in (("x509", "-in", tls, "-noout", "-pubkey"),
                                                            ("pkey", "-in", f"{folder}/tls.key", "-pubout"))}
        test.assertEqual(len(keys), 1, "key and certificate belong together")
        test.assertIn("BEGIN PUBLIC KEY", keys.pop())


class Rendered(unittest.TestCase):
    def test_lint(self):
        done = run("helm", "lint", "--strict", CHART)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_values_that_are_refused_by_name(self):
        for title, values, name in BAD_VALUES:
            with self.subTest(title), tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump(values, file)
                file.flush()
                done = render(f"--values={file.name}")
                self.assertNotEqual(done.returncode, 0, f"{title} was taken")
                self.assertIn("values don't meet the specifications of the schema", done.stderr)
                self.assertIn(name, done.stderr)

    def test_arguments_that_the_chart_says_itself_are_refused_with_a_sentence(self):
        for argument in ("--metrics-port=9999", "--coordinator-port=1", "--namespace=a", "--all-namespaces", "--no-leader-elect",
                         "--lease-name=b", "--advertise-url=http://a", "--tls-folder=/a", "--tls-server-name=a"):
            with self.subTest(argument):
                done = render("--set-json", f'extraArgs=["{argument}"]')
                self.assertNotEqual(done.returncode, 0, f"{argument} was taken")
                self.assertIn(f"extraArgs has {argument}, which the chart says itself: remove it", done.stderr)
        done = render("--set-json", 'extraArgs=["--workers=4"]')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('- "--workers=4"', done.stdout)

    def test_every_value_is_in_the_schema_and_does_something(self):
        values = (CHART / "values.yaml").read_text()
        (values,) = programs.read_yaml(f"{values}\napiVersion: v1\nkind: Values\nmetadata: {{name: values}}\n")
        schema = json.loads((CHART / "values.schema.json").read_text())
        known = {name: values[name] for name in values if name not in ("apiVersion", "kind", "metadata")}
        self.assertEqual(known.keys(), schema["properties"].keys() - {"global"})
        self.assertEqual(set(leaves(known)), OTHER_VALUES.keys(), "each value has another one here, to see what it does")
        usual = render().stdout
        for path, other in OTHER_VALUES.items():
            with self.subTest(path):
                done = render("--set-json", f"{path}={json.dumps(other)}")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(without_secrets(done.stdout) != without_secrets(usual), f"{path} does nothing")

    def test_the_operator_may_do_little_on_its_node(self):
        pod = objects()["Deployment", "ratoon"]["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        self.assertEqual((pod["securityContext"]["runAsNonRoot"], pod["securityContext"]["runAsUser"]), (True, 65532))
        self.assertEqual(container["securityContext"], {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                                        "capabilities": {"drop": ["ALL"]}})

    def test_nothing_stands_between_a_pod_and_its_making(self):
        # Under load a webhook that is asked about each pod is what fails first.
        self.assertFalse([name for kind, name in objects() if "Webhook" in kind])

    def test_values_reach_the_operator(self):
        def container(*words):
            return objects(*words)["Deployment", "ratoon"]["spec"]["template"]["spec"]["containers"][0]

        elected = ["--leader-elect", "--lease-name=ratoon"]
        tls = ["--tls-folder=/etc/ratoon/tls", f"--tls-server-name=ratoon-coordinator.{NAMESPACE}.svc"]
        self.assertEqual(container()["args"], ["--all-namespaces", *elected, *tls])
        self.assertEqual(container()["env"][0], {"name": "RATOON_COORDINATOR_SERVICE", "value": "ratoon-coordinator"})
        fields = {each["name"]: each["valueFrom"]["fieldRef"]["fieldPath"] for each in container()["env"][1:]}
        self.assertEqual(fields, {"RATOON_POD_IP": "status.podIP", "RATOON_POD_UID": "metadata.uid"})
        told = container("--set=watchNamespace=a,coordinator.advertiseUrl=https://b:1,extraArgs={--c},image.tag=d")
        self.assertEqual(told["args"], ["--namespace=a", *elected, *tls, "--advertise-url=https://b:1", "--c"])
        self.assertEqual(told["image"], "ratoon-operator:d")

    def test_members_are_led_to_the_leader_and_to_nobody_else(self):
        made = objects()
        service = made["Service", "ratoon-coordinator"]["spec"]
        pods = made["Deployment", "ratoon"]["spec"]["template"]["metadata"]["labels"]
        self.assertTrue(service["selector"], "the platform leaves former slices of a Service without one as they are")
        self.assertFalse(service["selector"].items() <= pods.items(), "it would lead to those that stand by, too")
        for family in ("IPv4", "IPv6"):
            slice = made["EndpointSlice", f"ratoon-coordinator-{family.lower()}"]
            self.assertEqual((slice["addressType"], slice["endpoints"]), (family, []))
            self.assertEqual(slice["metadata"]["labels"]["kubernetes.io/service-name"], "ratoon-coordinator")
            self.assertNotIn("endpointslice-controller", slice["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"])

    def test_members_are_shown_a_certificate_of_the_charts_own(self):
        secret = objects()["Secret", "ratoon-certificate"]
        self.assertEqual((secret["type"], secret["metadata"]["annotations"]["helm.sh/resource-policy"]),
                         ("kubernetes.io/tls", "keep"))
        expect_good(self, secret["data"], f"ratoon-coordinator.{NAMESPACE}.svc")
        named = objects("--set=coordinator.tls.serverName=door.example.org")
        expect_good(self, named["Secret", "ratoon-certificate"]["data"], "door.example.org")
        self.assertIn("--tls-server-name=door.example.org", operators_pod(named)["containers"][0]["args"])

    def test_a_certificate_is_mounted_from_the_one_place_that_has_it(self):
        for words, secret in (([], "ratoon-certificate"), (["--set=coordinator.tls.existingSecret=mine"], "mine")):
            made = objects(*words)
            pod = operators_pod(made)
            self.assertEqual(pod["volumes"], [{"name": "certificate", "secret": {"secretName": secret}}])
            self.assertEqual(pod["containers"][0]["volumeMounts"],
                             [{"name": "certificate", "mountPath": "/etc/ratoon/tls", "readOnly": True}])
            self.assertEqual([name for kind, name in made if kind == "Secret"], [secret] if secret != "mine" else [])

    def test_without_tls_nothing_of_it_is_there(self):
        # The second is what values of a release are that was made before there was any, with --reuse-values.
        for words in ("--set=coordinator.tls.enabled=false", "--set-json=coordinator.tls=null"):
            made = objects(words)
            pod = operators_pod(made)
            self.assertNotIn("volumes", pod)
            self.assertNotIn("volumeMounts", pod["containers"][0])
            self.assertFalse([each for each in pod["containers"][0]["args"] if "tls" in each])
            self.assertFalse([name for kind, name in made if kind == "Secret"])

    def test_two_operators_keep_apart_unless_told_otherwise(self):
        def pod(*words):
            return objects(*words)["Deployment", "ratoon"]["spec"]["template"]["spec"]

        self.assertEqual(objects()["Deployment", "ratoon"]["spec"]["replicas"], 2)
        self.assertEqual(list(pod()["affinity"]), ["podAntiAffinity"])
        told = pod("--set-json=affinity={\"nodeAffinity\":{\"a\":1}}")
        self.assertEqual(told["affinity"], {"nodeAffinity": {"a": 1}})

    def test_one_namespace_gives_rights_to_jobs_and_pods_there_alone(self):
        made = objects("--set=watchNamespace=grove")
        binding = made["RoleBinding", f"{NAMESPACE}-ratoon-jobs"]
        self.assertEqual(binding["metadata"]["namespace"], "grove")
        everywhere = [each["roleRef"]["name"] for (kind, _), each in made.items() if kind == "ClusterRoleBinding"]
        self.assertEqual(everywhere, [f"{NAMESPACE}-ratoon-nodes"])

    def test_what_can_be_left_out(self):
        kinds = {kind for kind, _ in objects("--set=crds.install=false,dashboards.install=false,flowSchema.install=false")}
        self.assertFalse(kinds & {"CustomResourceDefinition", "ConfigMap", "FlowSchema"})

    def test_a_package_holds_all_of_it(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("helm", "package", CHART, f"--destination={folder}")
            self.assertEqual(done.returncode, 0, done.stderr)
            (package,) = pathlib.Path(folder).glob("ratoon-*.tgz")
            unpacked = run("helm", "template", "ratoon", package, f"--namespace={NAMESPACE}", "--kube-version=1.35.0")
        self.assertEqual(without_secrets(unpacked.stdout), without_secrets(render().stdout))

    def test_a_long_name_of_a_release_fits(self):
        done = run("helm", "template", "r" * 53, CHART, "--kube-version=1.35.0")
        self.assertEqual(done.returncode, 0, done.stderr)
        for each in programs.read_yaml(done.stdout):
            self.assertLessEqual(len(each["metadata"]["name"]), 63, each["kind"])


class OnAServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = programs.Cluster(cls)
        cls.cluster.must("create", "namespace", NAMESPACE)
        cls.done = cls.helm("install", "ratoon", CHART)
        if cls.done.returncode != 0:
            raise AssertionError(cls.done.stderr)
        cls.cluster.must("wait", "--for=condition=Established", "crd/trainingjobs.ratoon.dev", "--timeout=180s")

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

    def test_an_upgrade_keeps_the_certificate_and_so_does_a_second_installation(self):
        def data():
            return json.loads(self.cluster.must("get", "secret", "ratoon-certificate", f"--namespace={NAMESPACE}",
                                                "--output=json"))["data"]

        before = data()
        for words in (["upgrade", "ratoon", CHART], ["uninstall", "ratoon"], ["install", "ratoon", CHART]):
            done = self.helm(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(data(), before, words[0])
        # One that lacks a part is made anew.
        self.cluster.must("patch", "secret", "ratoon-certificate", f"--namespace={NAMESPACE}", "--type=json",
                          "--patch", '[{"op": "replace", "path": "/data/ca.crt", "value": ""}]')
        done = self.helm("upgrade", "ratoon", CHART)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotEqual(data()["tls.crt"], before["tls.crt"])
        expect_good(self, data(), f"ratoon-coordinator.{NAMESPACE}.svc")

    def test_an_upgrade_leaves_the_leaders_address_where_members_find_it(self):
        led = {"endpoints": [{"addresses": ["10.0.0.7"], "conditions": {"ready": True}}],
               "ports": [{"name": "coordinator", "port": 9443, "protocol": "TCP"}]}
        slice = ("endpointslice", "ratoon-coordinator-ipv4", f"--namespace={NAMESPACE}")
        self.cluster.must("patch", *slice, "--type=merge", f"--patch={json.dumps(led)}")
        # The second one goes on from what the first one says of it.
        for words in (["upgrade", "ratoon", CHART, "--set=replicas=3"], ["upgrade", "ratoon", CHART]):
            done = self.helm(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
            live = json.loads(self.cluster.must("get", *slice, "--output=json"))
            self.assertEqual({name: live[name] for name in led}, led)
        # Another leader's, by then.
        led["endpoints"][0]["addresses"] = ["10.0.0.8"]
        self.cluster.must("patch", *slice, "--type=merge", f"--patch={json.dumps(led)}")
        self.assertEqual(self.helm("upgrade", "ratoon", CHART).returncode, 0)
        live = json.loads(self.cluster.must("get", *slice, "--output=json"))
        self.assertEqual({name: live[name] for name in led}, led)

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
            openapi = json.loads(self.cluster.server.request("GET", "/openapi/v2"))
            location = kubernetes_schemas.write(openapi, pathlib.Path(folder))

            def check(text):
                return run("kubeconform", "-strict", "-summary", "-schema-location", location, "-", text=text)

            chart = check(render().stdout)
            self.assertEqual(chart.returncode, 0, chart.stdout)
            for path in programs.SAMPLES:
                sample = check(path.read_text())
                self.assertEqual(sample.returncode, 0, sample.stdout)
                wrong = check(path.read_text().replace("spec:\n", "spec:\n  nonsense: 1\n", 1))
                self.assertIn("nonsense", wrong.stdout)


if __name__ == "__main__":
    programs.main("helm", "kubectl", "kubeconform", with_server=True)
