"""The chart: what it makes, and which values it refuses."""

import functools
import json
import pathlib
import tempfile
import unittest

import programs
import values_table
from chart import NAMESPACE, expect_good, objects, operators_pod, render, without_secrets
from chart_values import ALONG, BAD_VALUES, OTHER_VALUES, leaves
from programs import CHART, run


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
        schema = json.loads((CHART / "values.schema.json").read_text())
        known = values_table.read_values()
        self.assertEqual(known.keys(), schema["properties"].keys() - {"global"})
        self.assertEqual(set(leaves(known)), OTHER_VALUES.keys(), "each value has another one here, to see what it does")
        for path, other in OTHER_VALUES.items():
            with self.subTest(path):
                first, _, rest = path.partition(".")
                along = [f"--set={ALONG[first]}=true"] if first in ALONG and rest != "install" else []
                done = render(*along, "--set-json", f"{path}={json.dumps(other)}")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(without_secrets(done.stdout) != without_secrets(self.usual(*along)), f"{path} does nothing")

    @staticmethod
    @functools.cache
    def usual(*words):
        return render(*words).stdout

    def test_the_table_of_values_in_the_docs_is_that_of_the_chart(self):
        self.assertEqual(values_table.DOC.read_text(), values_table.page(),
                         "python3 tests/charts/values_table.py writes it anew")

    def test_the_operator_may_do_little_on_its_node(self):
        pod = objects()["Deployment", "ratoon"]["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        self.assertEqual(pod["securityContext"], {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}})
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
        kinds = {kind for kind, name in objects("--set=crds.install=false,dashboards.install=false,flowSchema.install=false,"
                                          "podDisruptionBudget.install=false") if name != "ratoon-test"}
        self.assertFalse(kinds & {"CustomResourceDefinition", "ConfigMap", "FlowSchema", "PodDisruptionBudget"})
        self.assertFalse(kinds & {"ServiceMonitor", "PodMonitor", "PrometheusRule", "NetworkPolicy"}, "they are asked for")

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


if __name__ == "__main__":
    programs.main("helm", "kubectl")
