"""The chart: what it makes, and which values it refuses."""

import functools
import json
import pathlib
import re
import tempfile
import unittest

import programs
import values_table
from chart import NAMESPACE, objects, operators_pod, render
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
        for argument in ("--metrics-port=9999", "--probe-port=9", "--coordinator-port=1", "--namespace=a",
                         "--all-namespaces", "--no-leader-elect",
                         "--lease-name=b", "--advertise-url=http://a", "--tls-folder=/a", "--tls-secret=a",
                         "--tls-server-name=a", "--notices=/a"):
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
                self.assertTrue(done.stdout != self.usual(*along), f"{path} does nothing")

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
        tls = ["--tls-secret=ratoon-certificate", f"--tls-server-name=ratoon-coordinator.{NAMESPACE}.svc"]
        launcher = ["--launcher-image=ratoon-operator:dev", "--launcher-pull-policy=IfNotPresent"]
        self.assertEqual(container()["args"], ["--all-namespaces", *elected, *tls, *launcher])
        self.assertEqual(container()["env"][0], {"name": "RATOON_COORDINATOR_SERVICE", "value": "ratoon-coordinator"})
        self.assertEqual(container()["env"][1], {"name": "RATOON_OPERATOR_IMAGE", "value": container()["image"]})
        fields = {each["name"]: each["valueFrom"]["fieldRef"]["fieldPath"] for each in container()["env"][2:]}
        self.assertEqual(fields, {"RATOON_POD_IP": "status.podIP", "RATOON_POD_UID": "metadata.uid"})
        told = container("--set=watchNamespace=a,coordinator.advertiseUrl=https://b:1,extraArgs={--c},image.tag=d")
        self.assertEqual(told["args"], ["--namespace=a", *elected, *tls, "--advertise-url=https://b:1",
                                        "--launcher-image=ratoon-operator:d", launcher[1], "--c"])
        self.assertEqual(told["image"], "ratoon-operator:d")

    def test_members_are_led_to_the_leader_and_to_nobody_else(self):
        made = objects()
        service = made["Service", "ratoon-coordinator"]["spec"]
        pods = made["Deployment", "ratoon"]["spec"]["template"]["metadata"]["labels"]
        self.assertTrue(service["selector"], "the platform leaves former slices of a Service without one as they are")
        self.assertFalse(service["selector"].items() <= pods.items(), "it would lead to those that stand by, too")

    def test_a_renderer_makes_the_same_each_time_and_asks_no_cluster(self):
        self.assertEqual(render().stdout, self.usual())
        for path in sorted((CHART / "templates").rglob("*.*")):
            for word in re.findall(r"\b(lookup|gen[A-Z]\w*|rand\w*|uuidv4|now|derivePassword|htpasswd|encryptAES)\b",
                                   "".join(re.findall(r"\{\{.*?\}\}", path.read_text(), re.DOTALL))):
                self.fail(f"{path.name} calls {word}")
        self.assertEqual([each for each in objects() if each[0] in ("Secret", "EndpointSlice")], [],
                         "the operator makes them, and another writer would undo its work")

    def test_what_members_know_outlives_the_release(self):
        kept = {each for each, content in objects().items()
                if content["metadata"].get("annotations", {}).get("helm.sh/resource-policy") == "keep"}
        self.assertEqual(kept, {("CustomResourceDefinition", "trainingjobs.ratoon.dev"), ("Service", "ratoon-coordinator")})

    def test_the_operator_makes_the_certificate_unless_a_secret_is_named(self):
        made = objects("--set=coordinator.tls.serverName=door.example.org")
        (container,) = operators_pod(made)["containers"]
        self.assertLessEqual({"--tls-secret=ratoon-certificate", "--tls-server-name=door.example.org"}, set(container["args"]))
        self.assertFalse("volumes" in operators_pod(made) or "volumeMounts" in container, "it reads the Secret by the API")
        self.assertEqual(self.rights_to_secrets(made), {"create": None, "get": ["ratoon-certificate"],
                                                        "patch": ["ratoon-certificate"]})
        made = objects("--set=coordinator.tls.existingSecret=mine")
        (container,) = operators_pod(made)["containers"]
        self.assertEqual(operators_pod(made)["volumes"], [{"name": "certificate", "secret": {"secretName": "mine"}}])
        self.assertEqual(container["volumeMounts"], [{"name": "certificate", "mountPath": "/etc/ratoon/tls", "readOnly": True}])
        self.assertIn("--tls-folder=/etc/ratoon/tls", container["args"])
        self.assertEqual(self.rights_to_secrets(made), {}, "the kubelet reads it")

    @staticmethod
    def rights_to_secrets(made):
        """{verb: names}"""
        rules = [rule for each in made.values() if each["kind"] in ("Role", "ClusterRole") for rule in each["rules"]]
        return {verb: rule.get("resourceNames") for rule in rules if "secrets" in rule["resources"] for verb in rule["verbs"]}

    def test_without_tls_nothing_of_it_is_there(self):
        # The second is what values of a release are that was made before there was any, with --reuse-values.
        for words in ("--set=coordinator.tls.enabled=false", "--set-json=coordinator.tls=null"):
            made = objects(words)
            pod = operators_pod(made)
            self.assertNotIn("volumes", pod)
            self.assertNotIn("volumeMounts", pod["containers"][0])
            self.assertFalse([each for each in pod["containers"][0]["args"] if "tls" in each])
            self.assertEqual(self.rights_to_secrets(made), {})

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
        self.assertEqual(unpacked.stdout, render().stdout)

    def test_a_long_name_of_a_release_fits(self):
        done = run("helm", "template", "r" * 53, CHART, "--kube-version=1.35.0")
        self.assertEqual(done.returncode, 0, done.stderr)
        for each in programs.read_yaml(done.stdout):
            self.assertLessEqual(len(each["metadata"]["name"]), 63, each["kind"])


if __name__ == "__main__":
    programs.main("helm", "kubectl")
