"""The chart on a real cluster by `helm template` and `kubectl apply`, as Argo CD does it: applied twice, and removed and applied
again while digits train."""
import json
import os
import sys
import unittest

import lab as laboratory
from lab import Lab
from runs import Runs

KEPT = ("Service/ratoon-coordinator", "CustomResourceDefinition/trainingjobs.ratoon.dev")
SYSTEM = ("--namespace", "ratoon-system")


def setUpModule():
    global lab
    lab = Lab(f"gitops{os.getpid()}")
    try:
        lab.up(is_rendered=True)
        Runs.lab = lab
        Runs.unbroken = Runs.run_unbroken()
    except BaseException:
        lab.down()
        raise


def tearDownModule():
    lab.down()


class GitOps(Runs, unittest.TestCase):
    def test_1_the_second_time_changes_nothing(self):
        for kind in ("kind: Secret\n", "kind: EndpointSlice\n"):
            self.assertNotIn(kind, lab.rendered)
        before = self.versions()
        lab.apply_rendered()
        self.assertEqual(self.versions(), before)
        self.assertEqual(lab.kubectl("diff", *SYSTEM, "-f", "-", text=lab.rendered), "")

    def test_2_an_installation_that_is_removed_and_applied_again_loses_no_member(self):
        self.begin("adopted")
        before = self.let_it_train("adopted", 20)
        address = self.address()
        self.remove_rendered()
        lab.wait_until("the end of the operator", lambda: lab.kubectl("get", "pods", *SYSTEM, "-o", "name") == "", 120)
        lab.apply_rendered()
        self.assertEqual(self.address(), address)
        after = self.let_it_train("adopted", 40)
        self.assertEqual((after["attempt"], after["restarts"]), (before["attempt"], before["restarts"]), lab.story("adopted"))
        self.expect_unbroken_weights("adopted")

    def rendered(self):
        return json.loads(lab.kubectl("get", *SYSTEM, "-f", "-", "-o", "json", text=lab.rendered))["items"]

    def versions(self):
        """Generations, where there are: a status changes by itself."""
        return {(each["kind"], each["metadata"]["name"]): each["metadata"].get("generation", each["metadata"]["resourceVersion"])
                for each in self.rendered()}

    def address(self):
        return lab.kubectl("get", "service", "ratoon-coordinator", *SYSTEM, "-o", "jsonpath={.spec.clusterIP}")

    def remove_rendered(self):
        """Argo CD, too, keeps what says so."""
        listed = self.rendered()
        kept = [each for each in listed if each["metadata"].get("annotations", {}).get("helm.sh/resource-policy") == "keep"]
        self.assertEqual({f"{each['kind']}/{each['metadata']['name']}" for each in kept}, set(KEPT))
        removed = {"apiVersion": "v1", "kind": "List", "items": [each for each in listed if each not in kept]}
        lab.kubectl("delete", "-f", "-", text=json.dumps(removed))


if __name__ == "__main__":
    if missing := laboratory.what_is_missing():
        print(f"SKIPPED: {missing}")
        sys.exit(77)
    unittest.main(failfast=True)
