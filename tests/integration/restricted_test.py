"""Under a policy that imitates OpenShift's restricted-v2 on a real API server: the chart's pods, the samples' templates and
the pods that the operator makes of them are taken as they are, and each rule of the imitation refuses something. The
operator and the members run as a user of the namespace's range."""

import contextlib
import copy
import json
import os
import sys
import types
import unittest
import urllib.error

from api_server import missing_programs
from local_run import wait_until
from restricted_policy import BINDING, FIRST, LABEL, PATH, POLICY, VALIDATIONS
from stand_in_cluster import NAMESPACE, PODS, ROOT, Operator, StandInCluster

USER = FIRST + 7  # /etc/passwd has no such user
CONTAINER = {"name": "trainer", "image": "example.org/counter:1", "command": ["true"]}
POD = {"spec": {"containers": [CONTAINER]}}


def pod_with(container=None, first=None, **spec):
    pod = copy.deepcopy(POD)
    pod["spec"]["containers"][0].update(container or {})
    if first is not None:
        pod["spec"]["initContainers"] = [{**CONTAINER, "name": "first", **first}]
    pod["spec"].update(spec)
    return pod


def context(**fields):
    return {"securityContext": fields}


REFUSED = {
    "a user outside of the namespace's range": [
        pod_with(securityContext={"runAsUser": 65532}), pod_with(context(runAsUser=1000690000)),
        pod_with(first=context(runAsUser=0))],
    "an fsGroup outside of the namespace's range": [pod_with(securityContext={"fsGroup": 65532})],
    "a seccomp profile other than RuntimeDefault": [
        pod_with(securityContext={"seccompProfile": {"type": "Unconfined"}}),
        pod_with(context(seccompProfile={"type": "Unconfined"}))],
    "SELinux options": [pod_with(securityContext={"seLinuxOptions": {"level": "s0"}}),
                        pod_with(context(seLinuxOptions={"level": "s0"}))],
    "root": [pod_with(securityContext={"runAsNonRoot": False}), pod_with(context(runAsNonRoot=False))],
    "privilege escalation": [pod_with(context(allowPrivilegeEscalation=True))],
    "a capability other than NET_BIND_SERVICE": [pod_with(context(capabilities={"add": ["SYS_PTRACE"]}))],
    "what is the node's": [pod_with(hostNetwork=True), pod_with(hostPID=True), pod_with(hostIPC=True)],
    "a port of the node": [pod_with({"ports": [{"containerPort": 9400, "hostPort": 9400}]})],
    "a volume of another kind": [pod_with(volumes=[{"name": "node", "hostPath": {"path": "/"}}])],
}
TAKEN = [POD, pod_with(securityContext={"runAsUser": 1000680000, "fsGroup": 1000689999, "runAsNonRoot": True}),
         pod_with(context(capabilities={"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]}, allowPrivilegeEscalation=False))]


def fields_of(text):
    """JSON documents one after the other."""
    rest, decoder = text.strip(), json.JSONDecoder()
    while rest:
        document, end = decoder.raw_decode(rest)
        yield document
        rest = rest[end:].lstrip()


class Restricted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = StandInCluster(types.SimpleNamespace(addCleanup=cls.addClassCleanup))
        for namespace in (NAMESPACE, "default"):
            cls.cluster.patch(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": LABEL}})
        cls.cluster.post(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}})
        cls.cluster.post(f"{PATH}/validatingadmissionpolicies", POLICY)
        cls.cluster.post(f"{PATH}/validatingadmissionpolicybindings", BINDING)
        wait_until(lambda: cls.answer(REFUSED["root"][0]), "the policy to be in force")

    @classmethod
    def answer(cls, pod, path=PODS):
        """What the server says against the pod; nothing where it would take it."""
        try:
            cls.cluster.post(f"{path}?dryRun=All", {**pod, "metadata": {"name": "pod"}})
            return ""
        except urllib.error.HTTPError as error:
            return json.loads(error.read())["message"]

    def documents(self, *words):
        """Of YAML files, by kubectl."""
        return fields_of(self.cluster.must("kubectl", "patch", "--local", "--type=merge", "--patch={}", "--output=json", *words))

    def sample_roles(self):
        for path in sorted((ROOT / "crds/samples").glob("*.yaml")):
            for document in self.documents(f"--filename={path}"):
                for role in document["spec"].get("roles", []):
                    yield path.name, role

    def test_each_rule_refuses_what_it_is_about(self):
        self.assertEqual(list(REFUSED), [what for what, _ in VALIDATIONS])
        for what, pods in REFUSED.items():
            for pod in pods:
                self.assertIn(f"restricted-v2 refuses {what}", self.answer(pod), pod)
        for pod in TAKEN:
            self.assertEqual(self.answer(pod), "")

    def test_the_charts_pods_are_taken(self):
        rendered = self.cluster.folder / "chart.yaml"
        rendered.write_text(self.cluster.must("helm", "template", "ratoon", ROOT / "charts/ratoon", "--kube-version=1.35.0",
                                              f"--namespace={NAMESPACE}"))
        pods = {}
        for each in self.documents(f"--filename={rendered}"):
            if each["kind"] == "Deployment":
                pods["operator"] = each["spec"]["template"]["spec"]
            elif each["kind"] == "Pod":
                pods["helm test"] = each["spec"]
        self.assertEqual(sorted(pods), ["helm test", "operator"])
        for name, spec in pods.items():
            account = {"serviceAccountName": "default"}  # the one of `helm test` is made with it
            self.assertEqual(self.answer({"spec": {**spec, **account}}, PODS.replace("default", NAMESPACE)), "", name)

    def test_members_of_every_sample_are_made_and_train(self):
        if os.geteuid() == 0:  # OpenShift assigns such a user
            self.cluster.run_as(USER, FIRST)
        operator = Operator(self, self.cluster, "one", 1, "--all-namespaces")
        contexts = {json.dumps([role["template"]["spec"].get("securityContext"),
                                role["template"]["spec"]["containers"][0].get("securityContext")], sort_keys=True): file
                    for file, role in self.sample_roles()}
        self.assertTrue(contexts)
        for number, (text, file) in enumerate(contexts.items()):
            of_pod, of_container = json.loads(text)
            trainer = {"name": "trainer", "image": "example.org/counter:1", "securityContext": of_container,
                       "command": ["counter", "--steps", "20", "--pause-ms", "1"]}
            roles = [{"name": "worker", "template": {"spec": {"securityContext": of_pod, "containers": [trainer]}}}]
            self.cluster.start_job(f"sample-{number}", steps=20, roles=roles)
            self.cluster.wait_for(f"sample-{number}", f"the end of a job as {file} has it",
                                  lambda status: status.get("phase") in ("Succeeded", "Failed"))
            self.assertEqual(self.cluster.status(f"sample-{number}")["phase"], "Succeeded", file)
            saved = set()
            # Unlike Path.rglob(), os.walk() passes over a folder that is removed meanwhile.
            for folder, folders, files in os.walk(self.cluster.kubelet.save_folder(f"sample-{number}")):
                for name in folders + files:
                    with contextlib.suppress(FileNotFoundError):  # a member that ends may replace a file of its claim
                        saved.add(os.stat(os.path.join(folder, name)).st_uid)
            self.assertEqual(saved, {self.cluster.user or os.geteuid()})
        self.assertTrue(operator.is_leading())

    def test_the_templates_of_samples_are_taken_whole(self):
        for file, role in self.sample_roles():
            self.assertEqual(self.answer({"spec": role["template"]["spec"]}), "", file)


if __name__ == "__main__":
    if missing := missing_programs("helm", "kubectl"):
        print(f"SKIPPED: {', '.join(missing)} not found; scripts/setup --only test builds them (needs Go 1.25)")
        sys.exit(77)
    unittest.main()
