"""What the chart makes for the platform around it: security contexts, policies, budgets, monitors."""

import json
import re
import unittest

import programs
from chart import NAMESPACE, objects, operators_pod, render
from chart_values import DIGEST

PLATFORMS = programs.ROOT / "docs" / "operate" / "platforms.md"
NOTICES = programs.ROOT / "docs" / "operate" / "notices.yaml"


class Parts(unittest.TestCase):
    def test_a_platform_that_gives_users_finds_none_and_takes_contexts_of_its_own_or_none(self):
        def contexts(*words):
            pods = [operators_pod(made := objects(*words)), made["Pod", "ratoon-test"]["spec"]]
            return [each.get("securityContext") for pod in pods
                    for each in (pod, *pod["containers"], *pod.get("initContainers", []))]

        self.assertNotRegex(json.dumps(contexts()), "runAsUser|runAsGroup|fsGroup")
        self.assertEqual(contexts("--set=podSecurityContext=null,securityContext=null"), [None] * 4)
        for each in contexts("--set=podSecurityContext.seccompProfile=null,securityContext.capabilities=null"):
            self.assertFalse(each.keys() & {"seccompProfile", "capabilities"})
        named = contexts("--set=podSecurityContext.runAsUser=7")
        self.assertEqual([each.get("runAsUser") for each in named], [7, None, 7, None])

    def test_values_of_a_release_from_before_these_parts_are_taken_and_lose_no_context(self):
        # As `helm upgrade --reuse-values` hands them over.
        lacking = ("notices", "podDisruptionBudget", "networkPolicy", "monitors", "prometheusRule", "extraEnv",
                   "topologySpreadConstraints", "image.digest", "podSecurityContext", "securityContext")
        made = objects(f"--set={','.join(f'{name}=null' for name in lacking)}")
        usual = objects()
        self.assertEqual(operators_pod(made), operators_pod(usual))
        self.assertEqual(usual.keys() - made.keys(), {("PodDisruptionBudget", "ratoon")})

    def test_a_digest_is_taken_in_place_of_the_tag(self):
        made = objects(f"--set=image.digest={DIGEST},image.tag=left")
        self.assertEqual(operators_pod(made)["containers"][0]["image"], f"ratoon-operator@{DIGEST}")

    def test_more_variables_come_behind_the_charts_own_and_none_of_them_is_one(self):
        secret = {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}
        told = operators_pod(objects("--set-json", f"extraEnv={json.dumps([secret])}"))["containers"][0]["env"]
        self.assertEqual(told[4:], [secret])
        done = render("--set-json", 'extraEnv=[{"name":"RATOON_POD_IP","value":"10.0.0.1"}]')
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("extraEnv has RATOON_POD_IP, and names that begin with RATOON_ are set by the chart: remove it",
                      done.stderr)

    def test_a_spread_is_about_the_operators_unless_it_says_otherwise(self):
        spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
        own = {**spread, "labelSelector": {"matchLabels": {"app": "b"}}}
        made = objects("--set-json", f"topologySpreadConstraints={json.dumps([spread, own])}")
        selector = made["Deployment", "ratoon"]["spec"]["selector"]
        self.assertEqual(operators_pod(made)["topologySpreadConstraints"], [{**spread, "labelSelector": selector}, own])

    def test_a_drain_evicts_one_operator_at_a_time_and_waits_for_no_broken_one(self):
        made = objects()
        budget = made["PodDisruptionBudget", "ratoon"]["spec"]
        self.assertEqual(budget, {"maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow",
                                  "selector": made["Deployment", "ratoon"]["spec"]["selector"]})

    def test_policies_let_in_members_and_readers_of_metrics_alone(self):
        self.assertFalse([name for kind, name in objects() if kind == "NetworkPolicy"], "they are asked for")
        reader = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
        server = {"ipBlock": {"cidr": "10.0.0.1/32"}}
        made = objects("--set=networkPolicy.install=true,networkPolicy.memberNamespaces={grove,forest}", "--set-json",
                       f"networkPolicy.metricsFrom=[{json.dumps(reader)}],networkPolicy.apiServer=[{json.dumps(server)}]")
        members = {"matchExpressions": [{"key": "ratoon.dev/job-name", "operator": "Exists"}]}
        policy = made["NetworkPolicy", "ratoon"]["spec"]
        self.assertEqual(policy["podSelector"], made["Deployment", "ratoon"]["spec"]["selector"])
        self.assertEqual(policy["policyTypes"], ["Ingress", "Egress"])
        self.assertEqual(policy["ingress"], [
            {"from": [{"podSelector": members, "namespaceSelector": {}}], "ports": [{"port": 9443, "protocol": "TCP"}]},
            {"from": [reader], "ports": [{"port": 9402, "protocol": "TCP"}]}])
        ports = [{"port": port, "protocol": "TCP"} for port in (443, 6443)]
        self.assertEqual(policy["egress"], [{"to": [server], "ports": ports}])
        for each in programs.read_yaml(render("--set=networkPolicy.install=true,networkPolicy.memberNamespaces={grove,forest}",
                                              "--show-only=templates/network_policies.yaml").stdout)[1:]:
            self.assertIn(each["metadata"]["namespace"], ("grove", "forest"))
            self.assertEqual(each["spec"], {"podSelector": members, "policyTypes": ["Ingress"], "ingress": [
                {"from": [{"podSelector": members}]},
                {"from": [{"namespaceSelector": {}}], "ports": [{"port": 9400, "endPort": 9463, "protocol": "TCP"}]}]})

    def test_policies_without_readers_of_metrics_have_no_rule_for_their_ports(self):
        # A rule with an empty `from` would let every peer in.
        for values in ("[]", "null"):
            made = objects("--set=networkPolicy.install=true,networkPolicy.memberNamespaces={grove}", "--set-json",
                           f"networkPolicy.metricsFrom={values}")
            (members_only,) = made["NetworkPolicy", "ratoon"]["spec"]["ingress"]
            self.assertEqual([each["port"] for each in members_only["ports"]], [9443], values)
            (of_each_other,) = made["NetworkPolicy", f"{NAMESPACE}-ratoon-members"]["spec"]["ingress"]
            self.assertNotIn("ports", of_each_other, values)

    def test_annotations_of_the_user_win_and_labels_of_the_selector_do(self):
        done = render("--set-json", 'podAnnotations={"prometheus.io/scrape":"false","note":"a"}', "--set-json",
                      'podLabels={"app.kubernetes.io/component":"other","team":"a"}')
        for key in ("prometheus.io/scrape:", "prometheus.io/port:"):
            self.assertEqual(done.stdout.count(key), 1, "strict readers refuse a key that stands twice")
        (deployment,) = [each for each in programs.read_yaml(done.stdout) if each["kind"] == "Deployment"]
        template = deployment["spec"]["template"]["metadata"]
        self.assertEqual(template["annotations"], {"prometheus.io/scrape": "false", "prometheus.io/port": "9402",
                                                   "prometheus.io/path": "/metrics", "note": "a"})
        self.assertEqual(template["labels"], {**deployment["spec"]["selector"]["matchLabels"], "team": "a"})

    def test_the_pod_of_helm_test_has_the_resources_of_an_operator(self):
        made = objects("--set=resources.limits.cpu=1")
        (check,) = made["Pod", "ratoon-test"]["spec"]["containers"]
        self.assertEqual(check["resources"], operators_pod(made)["containers"][0]["resources"])

    def test_with_one_namespace_policies_are_about_its_members(self):
        made = objects("--set=networkPolicy.install=true,watchNamespace=grove")
        (door, _) = made["NetworkPolicy", "ratoon"]["spec"]["ingress"]
        self.assertEqual(door["from"][0]["namespaceSelector"], {"matchLabels": {"kubernetes.io/metadata.name": "grove"}})
        self.assertEqual(made["NetworkPolicy", f"{NAMESPACE}-ratoon-members"]["metadata"]["namespace"], "grove")

    def test_monitors_find_the_operators_service_and_each_port_of_a_member(self):
        made = objects("--set=monitors.install=true,monitors.labels.release=prometheus,monitors.interval=7s")
        service = made["Service", "ratoon-metrics"]
        monitor = made["ServiceMonitor", "ratoon"]
        self.assertLessEqual(monitor["spec"]["selector"]["matchLabels"].items(), service["metadata"]["labels"].items())
        self.assertNotIn("app.kubernetes.io/instance", monitor["spec"]["selector"]["matchLabels"],
                         "Argo CD may write the name of the Application into this label")
        self.assertFalse(monitor["spec"]["selector"]["matchLabels"].items()
                         <= made["Service", "ratoon-coordinator"]["metadata"]["labels"].items())
        (endpoint,) = monitor["spec"]["endpoints"]
        self.assertEqual(endpoint, {"port": service["spec"]["ports"][0]["name"], "path": "/metrics", "interval": "7s"})
        members = made["PodMonitor", "ratoon-members"]
        for each in (monitor, members):
            self.assertEqual(each["metadata"]["labels"]["release"], "prometheus")
        self.assertEqual(members["spec"]["namespaceSelector"], {"any": True})
        (endpoint,) = members["spec"]["podMetricsEndpoints"]
        self.assertEqual((endpoint["path"], "port" in endpoint), ("/metrics", False))
        kept = endpoint["relabelings"][0]
        self.assertEqual((kept["sourceLabels"], kept["action"]), (["__meta_kubernetes_pod_container_port_name"], "keep"))
        ports = ("metrics", "metrics-1", "metrics-12", "debug", "metrics-x", "my-metrics")
        self.assertEqual([port for port in ports if re.fullmatch(kept["regex"], port)], list(ports[:3]))
        one = objects("--set=monitors.install=true,watchNamespace=grove")["PodMonitor", "ratoon-members"]
        self.assertEqual(one["spec"]["namespaceSelector"], {"matchNames": ["grove"]})

    def test_samples_for_spot_pools_ask_autoscalers_to_leave_their_nodes(self):
        samples = [path for path in programs.SAMPLES if "spot" in path.name]
        self.assertEqual(len(samples), 3)
        page = PLATFORMS.read_text()
        for path in samples:
            *_, job = programs.read_yaml(path.read_text())
            for role in job["spec"]["roles"]:
                annotations = role["template"]["metadata"]["annotations"]
                self.assertEqual(annotations, {"karpenter.sh/do-not-disrupt": "true",
                                               "cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}, path.name)
                for name, value in annotations.items():
                    self.assertIn(f'`{name}: "{value}"`', page)

    def test_rules_about_notices_reach_the_operator_as_a_file(self):
        rules = [{"name": "gke-spot-shutdown", "sign": "Shutdown", "nodeLabels": {"cloud.google.com/gke-spot": "true"},
                  "seconds": 105}, {"name": "node-cordon", "enabled": False}]

        def made_with(*words):
            made = objects("--set-json", f"notices={json.dumps(rules)}", *words)
            pod = operators_pod(made)
            annotations = made["Deployment", "ratoon"]["spec"]["template"]["metadata"]["annotations"]
            return made, pod, pod["containers"][0], annotations["checksum/notices"]

        made, pod, container, checksum = made_with()
        self.assertIn("--notices=/etc/ratoon/notices/notices.yaml", container["args"])
        self.assertEqual(container["volumeMounts"], [{"name": "notices", "mountPath": "/etc/ratoon/notices", "readOnly": True}])
        self.assertEqual(pod["volumes"], [{"name": "notices", "configMap": {"name": "ratoon-notices"}}])
        text = made["ConfigMap", "ratoon-notices"]["data"]["notices.yaml"]
        (told,) = programs.read_yaml(f"{text}\nmetadata: {{name: a}}\n")
        self.assertEqual((told["apiVersion"], told["kind"], told["rules"]),
                         ("operator.ratoon.dev/v1alpha1", "NoticeRules", rules))
        rules[0]["seconds"] = 100
        self.assertNotEqual(made_with()[3], checksum, "operators that read other rules are started again")
        pod = made_with("--set=coordinator.tls.existingSecret=a")[1]
        self.assertEqual([each["name"] for each in pod["volumes"]], ["certificate", "notices"])
        usual = objects()
        self.assertNotIn(("ConfigMap", "ratoon-notices"), usual)
        self.assertNotIn("volumes", operators_pod(usual))

    def test_the_page_about_platforms_has_each_built_in_rule_with_its_key_and_seconds(self):
        (page,) = programs.read_yaml(f"{NOTICES.read_text()}\nmetadata: {{name: a}}\n")
        self.assertGreater(len(page["rules"]), 20)
        rows = [row.split(" | ") for row in re.findall(r"^\| `.*", PLATFORMS.read_text(), re.MULTILINE)]
        told = {row[0].strip("| `"): row for row in rows if len(row) == 5}
        self.assertEqual(told.keys(), {rule["name"] for rule in page["rules"]})
        for rule in page["rules"]:
            _, sign, _, seconds, checked = told[rule["name"]]
            for word in (rule.get("key"), rule.get("value"), *rule.get("nodeLabels", ())):
                self.assertIn(f"`{word}" if word else "", sign, rule["name"])
            self.assertEqual(seconds.isdigit() and int(seconds) or None, rule.get("seconds"), rule["name"])
            self.assertRegex(checked, "^(run|imitated|read)\\b", rule["name"])


if __name__ == "__main__":
    programs.main("helm", "kubectl")
