"""Faults on a real cluster: nodes that go with notice of every kind, nodes that are missing and come, a zombie that writes, a
plain script without the agent and under the launcher, and a cut between two nodes. test_ names are in the order in which
they run, on one cluster."""
import datetime
import json
import os
import pathlib
import random
import shutil
import signal
import sys
import time
import unittest

import lab as laboratory
from lab import ROOT, Lab, is_stepping, plain_script
from runs import PAUSE_MS, STEPS, Runs

SEED = int(os.environ.get("RATOON_SEED", str(random.randrange(1_000_000))))
NODES = ("node-2", "node-3", "node-4")
ALONE = {"numNodes": 1}
PYTHON = pathlib.Path(sys.executable).resolve().name
NAMED_SECONDS_MAX = 15  # from a cut until a member names the peer to the operator
COLLECTION_SECONDS = 5  # for reports of further members, before the operator's event: kReportCollectionTime


def setUpModule():
    global lab, figures
    print(f"RATOON_SEED={SEED}", flush=True)
    random.seed(SEED)
    figures = {"seed": SEED}
    lab = Runs.lab = Lab(f"faults{os.getpid()}")
    try:
        lab.up(nodes=1)
        for node in NODES:
            lab.add_node(node)
        Runs.unbroken = Runs.run_unbroken()
    except BaseException:
        lab.down()
        raise


def tearDownModule():
    lab.down()
    print(json.dumps(figures, indent=1), flush=True)
    if out := os.environ.get("RATOON_FIGURES"):
        pathlib.Path(out).write_text(json.dumps(figures, indent=1) + "\n")


class Faults(Runs, unittest.TestCase):
    def hand_over(self, kind, go):
        """Has a member's node or pod go by `go(node, pod)`, and expects that it costs nothing but a short stall."""
        before = self.let_it_train("noticed", 10)
        pod = random.choice([pod for pod in lab.pods("noticed") if "deletionTimestamp" not in pod["metadata"]])
        node, name = pod["spec"]["nodeName"], pod["metadata"]["name"]
        noticed_at = time.time()
        go(node, name)
        seconds, account = self.wait_recovered("noticed", before, noticed_at)
        self.assertEqual(account["lostSteps"], 0, kind)
        self.assertLessEqual(account["totalSeconds"], 3.0, kind)
        status = lab.status("noticed")
        self.assertEqual(status["restarts"]["disruption"], 0, f"{kind}: nothing was lost\n{lab.story('noticed')}")
        self.assertIn(kind, " ".join(event["note"] for event in lab.events("noticed") if event["reason"] == "NodeNotice"))
        lab.wait("noticed", "the end of the pod",
                 lambda _: name not in [each["metadata"]["name"] for each in lab.pods("noticed")], 60)
        figures.setdefault("notices", {})[kind] = {"stall_seconds": account["totalSeconds"], "seconds_to_new_world": seconds}
        return node

    def power_off_and_on(self, node):
        lab.kill_node(node)
        lab.add_node(node)

    def test_1_of_every_kind_cost_no_step(self):
        # Each end is announced. A busy machine may keep a process silent for three seconds.
        self.begin("noticed", disruptionPolicy={"suspectAfterSeconds": 60})
        node = self.hand_over("it is cordoned", lambda node, _: lab.kubectl("cordon", node))
        lab.kubectl("uncordon", node)
        self.hand_over("its pod is being deleted", lambda _, pod: lab.kubectl("delete", "pod", pod, "--wait=false"))
        node = self.hand_over("it is shutting down", lambda node, _: lab.login_managers[node].shut_down())
        self.assertTrue(lab.login_managers[node].wait_until_released(30), "no pod holds the shutdown up")
        self.power_off_and_on(node)
        node = self.hand_over("it is being deleted", lambda node, _: lab.kubectl("delete", "node", node))
        self.power_off_and_on(node)
        self.expect_unbroken_weights("noticed")

    def test_2_a_job_is_as_large_as_there_are_nodes(self):
        """It asks for two, takes three, goes on with one where no node is left, and grows again as they come."""
        lab.start("elastic", STEPS * 100, 60, is_alone=True, numNodes=2, elasticPolicy={
            "minReplicas": 1, "maxReplicas": 3, "shrinkAfterSeconds": 0, "growCooldownSeconds": 2})
        self.wait_for_world("elastic", 3)
        seconds, lost = [], []
        for size in (2, 1):
            before = self.let_it_train("elastic", 10)
            lost.append(lab.node_of_a_member("elastic"))
            killed_at = lab.kill_node(lost[-1])
            seconds.append(self.wait_recovered("elastic", before, killed_at)[0])
            self.wait_for_world("elastic", size)
        figures["shrink_seconds"] = seconds
        scheduled = next(each for each in lab.status("elastic")["conditions"] if each["type"] == "Scheduled")
        self.assertEqual(scheduled["status"], "False", "one of the two that it asked for has no node")
        for node in lost:
            lab.add_node(node)
        status = self.wait_for_world("elastic", 3)
        losses = [event["note"] for event in lab.events("elastic") if event["reason"] == "MemberLost"]
        self.assertEqual(status["restarts"], {**status["restarts"], "disruption": 2, "application": 0}, losses)
        lab.kubectl("delete", "tj", "elastic")

    def test_3_it_writes_until_another_one_has_its_place(self):
        """Its kubelet stands still and nothing reaches it, and its trainer goes on and commits. A run of one member has no
        peers whose absence would stop it."""
        unbroken = self.run_unbroken("alone-unbroken", **ALONE)
        self.begin("alone", **ALONE)
        before = self.let_it_train("alone", 20)
        node = lab.node_of_a_member("alone")
        cut_at, last = lab.cut_off(node), self.newest(1)
        lab.wait_until("checkpoint that nobody was told of", lambda: self.newest(1) > last, 60)
        seconds, account = self.wait_recovered("alone", before, cut_at)
        figures["zombie"] = {"seconds": seconds, "lost_steps": account["lostSteps"]}
        lab.wait_until("word of the zombie's", lambda: "which stops writing here" in lab.said_on(node, "alone"), 60)
        last = self.newest(1)
        lab.wait_until("checkpoint of the second attempt", lambda: self.newest(2) >= last + 40, 60)

        before = lab.status("alone")
        (pod,) = [pod["metadata"]["name"] for pod in lab.pods("alone") if pod["spec"].get("nodeName") != node]
        lab.kubectl("delete", "pod", pod, "--grace-period=0", "--force")
        self.wait_recovered("alone", before, time.time())
        made = lab.checkpoints("alone")
        formed = [event["note"] for event in lab.events("alone") if event["reason"] == "WorldFormed"]
        third = next(note for note in formed if note.startswith("attempt 3 "))
        self.assertIn((2, int(third.split("from step ")[1].split()[0])), made)
        self.assertLessEqual(self.newest(1), last)
        lab.reconnect(node)
        status = self.expect_unbroken_weights("alone", unbroken)
        self.assertEqual(status["restarts"]["disruption"], 2)
        lab.wait_until("zombie's end", lambda: not lab.processes("digits", "nodes", node), 60)

    def newest(self, attempt):
        return max((step for number, step in lab.checkpoints("alone") if number == attempt), default=0)

    def test_4_a_plain_script_is_made_anew_as_one_group(self):
        lab.load_python()
        folder, steps = lab.make_volume("plain"), 2500
        shutil.copy(ROOT / "tests/integration/plain_trainer.py", folder)
        lab.apply(plain_script("plain", steps, numNodes=2))
        kept = folder / "kept.json"
        lab.wait("plain", "the group", lambda now: now.get("phase") == "Running", 60)
        lab.wait_until("steps", lambda: kept.exists() and json.loads(kept.read_text())["step"] > 50, 60)
        before = {pod["metadata"]["name"] for pod in lab.pods("plain")}
        self.assertEqual(before, {"plain-worker-0-i0", "plain-worker-1-i0"})
        lab.kubectl("delete", "pod", "plain-worker-1-i0", "--now")
        status = lab.wait("plain", "success", lambda now: now.get("phase") == "Succeeded", 120)
        self.assertEqual((status["attempt"], status["restarts"]["application"]), (2, 0), lab.story("plain"))
        self.assertGreater(status["restarts"]["disruption"], 0)
        total = sum(step * (1 + 2) for step in range(steps))
        self.assertEqual(json.loads(kept.read_text()), {"step": steps, "total": total}, "each step counts once")
        for pod in ("plain-worker-0-i1", "plain-worker-1-i1"):
            self.assertIn(f"total {total}\n", lab.kubectl("logs", pod))

    def test_5_members_that_cannot_reach_each_other(self):
        """The network between two nodes is cut while both reach the operator: in the midst of training, and before the first
        step. One of the two members moves to the third node, and nothing counts as the program's."""
        pair = {"numNodes": 2, "is_alone": True}
        unbroken = self.run_unbroken("pair-unbroken", **pair)
        self.begin("pair", **pair)
        before = self.let_it_train("pair", 20)
        one, other = sorted(lab.nodes_of("pair"))
        lab.cut_link(one, other)
        cut_at = time.time()
        seconds, account = self.wait_recovered("pair", before, cut_at)
        lab.mend_link(one, other)
        figures["cut_while_it_trains_seconds"] = seconds
        self.expect_one_moved("pair", one, other, account)
        figures["cut_to_event_seconds"] = self.seconds_to_event_of_cut("pair", cut_at)
        self.assertLessEqual(figures["cut_to_event_seconds"], NAMED_SECONDS_MAX + COLLECTION_SECONDS, lab.story("pair"))
        status = self.expect_unbroken_weights("pair", unbroken)
        self.assertEqual(status["restarts"], {**status["restarts"], "disruption": 1, "hung": 0})

        free = NODES[2]
        lab.kubectl("cordon", free)
        lab.cut_link(*NODES[:2])
        began = time.time()
        lab.start("knocks", STEPS, PAUSE_MS, **pair)
        lab.wait("knocks", "a world", lambda now: now.get("phase") == "Running", 180)
        lab.kubectl("uncordon", free)
        status = lab.wait("knocks", "first steps", is_stepping(0), 180)
        lab.mend_link(*NODES[:2])
        figures["cut_before_the_first_step_seconds"] = time.time() - began
        self.assertIn(free, lab.nodes_of("knocks"))
        status = self.expect_unbroken_weights("knocks", unbroken)
        self.assertEqual(status["restarts"], {**status["restarts"], "application": 0, "hung": 0})
        self.assertIn("has no connection to", self.said_of_losses("knocks"))

    def expect_one_moved(self, name, one, other, account):
        self.assertIn("has no connection to", account["reason"])
        self.assertIn(account["node"], (one, other))
        self.assertEqual(len(lab.nodes_of(name) & {one, other}), 1, "one of the two stays")
        (suspect,) = lab.status(name)["suspectNodes"]
        self.assertEqual((suspect["name"], suspect["unreachable"]), (account["node"], True))
        self.assertIn(f"check whether the network of {account['node']} works", self.said_of_losses(name))

    def seconds_to_event_of_cut(self, name, cut_at):
        """From the cut to the first event that names a peer without a connection."""
        times = [event["eventTime"] for event in lab.events(name)
                 if event["reason"] == "MemberLost" and "has no connection to" in event["note"]]
        return min(datetime.datetime.fromisoformat(each.replace("Z", "+00:00")).timestamp() for each in times) - cut_at

    def test_6_a_plain_script_under_the_launcher(self):
        """A killed program starts again in its pod. A dead node costs one pod, and the other pods' programs start again. Each
        step counts once."""
        lab.load_python()
        folder, steps = lab.make_volume("launched"), 6000
        shutil.copy(ROOT / "tests/integration/plain_trainer.py", folder)
        lab.apply(plain_script("launched", steps, agent="Launcher", is_alone=True, numNodes=2))
        kept = folder / "kept.json"
        step = lambda: json.loads(kept.read_text())["step"] if kept.exists() else 0
        lab.wait_until("steps", lambda: step() > 50, 120)
        pods = self.pods_of("launched")

        before = lab.status("launched")
        os.kill(random.choice(lab.processes(PYTHON, "nodes", lab.node_of_a_member("launched"))), signal.SIGKILL)
        self.wait_for_steps_of_next_world("launched", before, step)
        self.assertEqual(self.pods_of("launched"), pods, "the program starts again in its pod")

        before = lab.status("launched")
        node = lab.node_of_a_member("launched")
        killed_at = lab.kill_node(node)
        (lost,) = [pod["metadata"]["uid"] for pod in lab.pods("launched") if pod["spec"].get("nodeName") == node]
        self.wait_for_steps_of_next_world("launched", before, step)
        figures["launched_dead_node_seconds"] = time.time() - killed_at
        self.assertEqual(pods - {lost}, pods & self.pods_of("launched"), "one pod is made again")
        status = lab.wait("launched", "success", lambda now: now.get("phase") == "Succeeded", 240)
        self.assertEqual(status["restarts"]["application"], 0, lab.story("launched"))
        total = sum(each * (1 + 2) for each in range(steps))
        self.assertEqual(json.loads(kept.read_text()), {"step": steps, "total": total}, "each step counts once")
        lab.add_node(node)

    def pods_of(self, name):
        """The UIDs of those that are not being deleted."""
        return {pod["metadata"]["uid"] for pod in lab.pods(name) if "deletionTimestamp" not in pod["metadata"]}

    def wait_for_steps_of_next_world(self, name, before, step):
        lab.wait(name, "a new world", lambda now: now["attempt"] > before["attempt"] and now["phase"] == "Running", 120)
        begun = step()
        lab.wait_until(f"steps behind {begun}", lambda: step() > begun + 20, 120)

    def test_7_a_reader_shows_the_checkpoints_of_a_job(self):
        """kubectl ratoon makes a pod that mounts the job's volume, while the job trains and after its end."""
        self.begin("read")
        self.let_it_train("read", 20)
        self.assertIn("STEP", self.read("checkpoints", "read"))
        self.expect_unbroken_weights("read")
        self.assertIn(str(STEPS), self.read("checkpoints", "read"))
        report = json.loads(self.read("report", "read", "--json"))
        self.assertEqual((report["standing"], report["step"]), ("completed", STEPS))
        pods = "/api/v1/namespaces/default/pods?labelSelector=app.kubernetes.io/managed-by%3Dkubectl-ratoon"
        lab.wait_until("the end of the reader's pods", lambda: not lab.api.get(pods)["items"], 60)

    def read(self, *words):
        return laboratory.run(laboratory.PROGRAMS / "kubectl-ratoon", *words, "--kubeconfig", lab.kubeconfig)

    def said_of_losses(self, name):
        return " ".join(event["note"] for event in lab.events(name) if event["reason"] == "MemberLost")


if __name__ == "__main__":
    if missing := laboratory.what_is_missing():
        print(f"SKIPPED: {missing}")
        sys.exit(77)
    unittest.main(failfast=True)
