"""What happens to operators and to the API server on a real cluster, while members are lost: two operators on two nodes, an
upgrade of the chart, a minute without an API server. test_ names are in the order in which they run, on one cluster."""
import json
import os
import pathlib
import random
import shutil
import sys
import time
import unittest

import lab as laboratory
from lab import ROOT, Lab, is_stepping, plain_script
from runs import STEPS, Runs

SEED = int(os.environ.get("RATOON_SEED", str(random.randrange(1_000_000))))
AWAY_SECONDS = float(os.environ.get("RATOON_AWAY_SECONDS", "60"))
SLICES = "/apis/discovery.k8s.io/v1/namespaces/ratoon-system/endpointslices"
SERVICE = "ratoon-coordinator"


def setUpModule():
    global lab, figures
    print(f"RATOON_SEED={SEED}", flush=True)
    random.seed(SEED)
    figures = {"seed": SEED}
    lab = Runs.lab = Lab(f"operators{os.getpid()}")
    try:
        lab.up(nodes=4, chart=former_chart())
        Runs.unbroken = Runs.run_unbroken()
    except BaseException:
        lab.down()
        raise


def tearDownModule():
    lab.down()
    print(json.dumps(figures, indent=1), flush=True)
    if out := os.environ.get("RATOON_FIGURES"):
        pathlib.Path(out).write_text(json.dumps(figures, indent=1) + "\n")


def former_chart():
    """The chart as it was when its Service selected the operator's pods, so that the platform made endpoints for them."""
    chart = lab.folder / "former"
    shutil.copytree(ROOT / "charts/ratoon", chart)
    file = chart / "templates/service.yaml"
    selector = "  selector: {operator.ratoon.dev/pods: none}\n"
    text = file.read_text()
    assert selector in text
    file.write_text(text.replace(selector, '  selector:\n    {{- include "ratoon.selector" . | nindent 4 }}\n'))
    return chart


class Operators(Runs, unittest.TestCase):
    def test_1_members_reach_the_new_operator_and_no_former_address(self):
        self.begin("upgraded")
        before = self.let_it_train("upgraded", 20)
        former = self.addresses()
        self.assertEqual(len(former), 1)
        self.assertGreater(len(self.slices()), 2, "the platform's own are there")
        lab.helm("upgrade", ROOT / "charts/ratoon", "--reset-then-reuse-values", "--set", "podAnnotations.upgraded=yes")
        lab.wait_until("one way to members", lambda: len(self.addresses()) == 1 and self.addresses() != former, 60,
                       story=lambda: json.dumps(self.slices()))
        after = self.let_it_train("upgraded", 40)
        self.assertEqual((after["attempt"], after["restarts"]), (before["attempt"], before["restarts"]))
        node = lab.node_of_a_member("upgraded")
        killed_at = lab.kill_node(node)
        figures["loss_after_an_upgrade_seconds"] = self.wait_recovered("upgraded", after, killed_at)[0]
        lab.add_node(node)
        self.expect_unbroken_weights("upgraded")

    def slices(self):
        return [each for each in lab.api.get(SLICES)["items"]
                if each["metadata"]["labels"].get("kubernetes.io/service-name") == SERVICE]

    def addresses(self):
        """To which members may be led."""
        return {address for each in self.slices() for end in each["endpoints"] or [] for address in end["addresses"]}

    def test_2_it_is_away_for_a_while_and_a_member_is_lost_meanwhile(self):
        self.begin("apart")
        before = self.let_it_train("apart", 20)
        node, begun = lab.node_of_a_member("apart"), max(lab.checkpoints("apart"))[1]
        lab.kill_api_server()
        gone_at = time.time()
        lab.wait_until("training without it", lambda: max(lab.checkpoints("apart"))[1] >= begun + 40, 60, story=str)
        killed_at = lab.kill_node(node)
        time.sleep(max(AWAY_SECONDS - (time.time() - gone_at), 0))  # how long it is away is what is tested
        lab.revive_api_server()
        back_at = time.time()
        status = lab.wait("apart", "a new world", is_stepping(before["progress"]["step"], before["attempt"]), 120)
        figures["api_server_away"] = {"seconds": AWAY_SECONDS, "stepping_after_it_is_back": time.time() - back_at,
                                      "lost_before": back_at - killed_at}
        figures["api_server_away"]["phases"] = status.get("lastDisruption", {}).get("phases")
        self.assertEqual(status["attempt"], before["attempt"] + 1, "one world for one loss")
        self.assertEqual(status["restarts"]["disruption"], before["restarts"]["disruption"] + 1, lab.story("apart"))
        lab.add_node(node)
        self.expect_unbroken_weights("apart")

    def test_3_the_leaders_node_dies_with_a_member_on_it(self):
        lab.kubectl("label", "node", "node-2", "runs-operators=yes")
        lab.helm("upgrade", ROOT / "charts/ratoon", "--reset-then-reuse-values", "--set", "replicas=2")
        four = {"numNodes": 4, "is_anywhere": True}
        unbroken = self.run_unbroken("four-unbroken", **four)
        self.begin("beheaded", **four)
        before, leader = self.let_it_train("beheaded", 20), lab.leader_node()
        self.assertIn(leader, lab.nodes_of("beheaded"), "one of four members is on each of four nodes")
        killed_at = lab.kill_node(leader)
        seconds, account = self.wait_recovered("beheaded", before, killed_at, 120)
        figures["leader_and_member"] = {"seconds": seconds, "phases": account["phases"]}
        status = lab.status("beheaded")
        self.assertEqual(status["attempt"], before["attempt"] + 1, lab.story("beheaded"))
        self.assertEqual(status["restarts"]["disruption"], 1)
        self.assertNotEqual(lab.leader_node(), leader)
        lab.add_node(leader)
        self.expect_unbroken_weights("beheaded", unbroken)

    def test_4_a_node_takes_a_rank_of_a_plain_script(self):
        """Nobody hears such a program: the platform says that its node is lost, after 40 seconds."""
        lab.load_python()
        folder, steps = lab.make_volume("plain"), 3000
        shutil.copy(ROOT / "tests/integration/plain_trainer.py", folder)
        lab.apply(plain_script("plain", steps, numNodes=2))
        kept = folder / "kept.json"
        lab.wait_until("steps", lambda: kept.exists() and json.loads(kept.read_text())["step"] > 50, 60)
        node = lab.node_of_a_member("plain")
        killed_at = lab.kill_node(node)
        lab.wait("plain", "another group", lambda now: now["attempt"] == 2 and now["phase"] == "Running", 150)
        figures["group_lost_a_node_seconds"] = time.time() - killed_at
        lab.add_node(node)
        status = lab.wait("plain", "success", lambda now: now.get("phase") == "Succeeded", 180)
        self.assertEqual(status["restarts"]["application"], 0)
        self.assertEqual(json.loads(kept.read_text()), {"step": steps, "total": sum(step * 3 for step in range(steps))})

    def test_5_a_rollback_and_another_upgrade_cost_a_job_nothing(self):
        lab.start("rolled", STEPS, pause_ms=200)  # longer than two rollouts
        lab.wait("rolled", "first steps", is_stepping(0), 180)
        before = self.let_it_train("rolled", 20)
        for verb, *what in (("rollback", "1"), ("upgrade", ROOT / "charts/ratoon", "--reset-then-reuse-values")):
            lab.helm(verb, *what)
            lab.wait_until("a way to members", self.addresses, 60, story=lambda: json.dumps(self.slices()))
            after = self.let_it_train("rolled", 20)
            self.assertEqual((after["attempt"], after["restarts"]), (before["attempt"], before["restarts"]), verb)
        self.expect_unbroken_weights("rolled")


if __name__ == "__main__":
    if missing := laboratory.what_is_missing():
        print(f"SKIPPED: {missing}")
        sys.exit(77)
    unittest.main(failfast=True)
