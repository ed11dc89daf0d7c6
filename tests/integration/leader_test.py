"""Several operators on a real API server: one leads, and what happens to it does not happen to training."""

import datetime
import signal
import sys
import time
import unittest

from api_server import missing_programs
from local_run import wait_until
from stand_in_cluster import Operator, StandInCluster

LEASE_SECONDS = 6
WRITES = ("create", "update", "patch", "delete", "deletecollection")


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def began(call):
    return moment(call["requestReceivedTimestamp"])


def was_taken(call):
    return call["responseStatus"]["code"] < 400


class Leader(unittest.TestCase):
    def setUp(self):
        self.cluster = StandInCluster(self)

    def start(self, name, number):
        return Operator(self, self.cluster, name, number, "--leader-elect")

    def start_two(self):
        """The one that leads, and the one that stands by."""
        first = self.start("first", 1)
        wait_until(first.is_leading, "the first to lead", 180)
        second = self.start("second", 2)
        wait_until(second.is_ready, "the second to be ready", 180)
        if second.is_leading():  # only where the first stood still for four seconds, and ends
            self.assertEqual(first.process.wait(180), 1, "two lead")
        self.cluster.start_job("j", steps=1_000_000)
        self.cluster.wait_for("j", "steps", lambda status: status.get("progress", {}).get("step", 0) > 20)
        if first.process.poll() is None:
            return first, second
        # A busy machine made it stand still for four seconds: it could not renew its lease, and ended.
        wait_until(second.is_leading, "the second to lead", 180)
        first.start()
        wait_until(first.is_ready, "the first to be ready", 180)
        return second, first

    def expect_untouched_training(self):
        step = self.cluster.step("j")
        status = self.cluster.wait_for("j", "more steps", lambda now: now["progress"]["step"] > step + 50)
        self.assertEqual((status["attempt"], status["restarts"]["disruption"]), (1, 0), status)
        made = [run["name"] for run in list(self.cluster.kubelet.running.values()) if run["name"].startswith("j-")]
        self.assertEqual(len(made), 2, "no pod was made anew")

    def test_one_that_slept_past_its_lease_wakes_and_writes_nothing(self):
        first, second = self.start_two()
        second.keep_running()
        self.assertTrue(self.cluster.leader().startswith(f"{first.name}/"))
        first.process.send_signal(signal.SIGSTOP)
        stopped = time.time()
        wait_until(second.is_leading, "the second to lead", 180)
        seconds = time.time() - stopped
        renewals = [call for call in first.calls() if call["objectRef"]["resource"] == "leases" and was_taken(call)
                    and call["verb"] in WRITES]
        # The server notes a call after its answer.
        taken = wait_until(lambda: [call for call in second.calls() if call["objectRef"]["resource"] == "leases"
                                    and was_taken(call) and call["verb"] in WRITES and began(call) >= stopped],
                           "the call that took the lease in the audit log")[0]
        self.assertGreaterEqual(began(taken) - moment(renewals[-1]["stageTimestamp"]), LEASE_SECONDS)
        self.expect_untouched_training()

        self.cluster.start_job("late", steps=1_000_000)  # something that the sleeper would act upon
        self.cluster.wait_for("late", "steps", lambda status: status.get("progress", {}).get("step", 0) > 0)
        woken = time.time()
        first.process.send_signal(signal.SIGCONT)
        self.assertEqual(first.process.wait(180), 1)
        self.assertIn("could not be renewed in time", first.said(), "said by each path to this end")
        self.expect_untouched_training()
        after = [call for call in first.calls() if began(call) >= woken and call["verb"] in WRITES]
        self.assertEqual([call for call in after if call["objectRef"]["resource"] != "leases" or was_taken(call)], [])
        wait_until(second.is_leading, "the second to lead still", 180)
        print(f"the second led {seconds:.1f} s after the first was stopped", flush=True)

    def test_one_that_is_told_to_end_gives_its_lease_back(self):
        first, second = self.start_two()
        second.keep_running()
        first.process.send_signal(signal.SIGTERM)
        self.assertEqual(first.process.wait(180), 0)
        ended = time.time()
        self.assertFalse(self.cluster.leader().startswith(f"{first.name}/"))
        wait_until(second.is_leading, "the second to lead", 180)
        print(f"the second led {time.time() - ended:.1f} s after the first ended", flush=True)
        self.expect_untouched_training()

    def test_one_that_was_killed_leads_again_at_once_in_its_pod(self):
        first = self.start("first", 1)
        wait_until(first.is_leading, "the first to lead", 180)
        before = self.cluster.leader()
        first.kill()
        started = time.time()
        first.start()
        first.keep_running()
        wait_until(first.is_leading, "it to lead again", 180)
        self.assertNotEqual(self.cluster.leader(), before, "another start, another name")

        def verbs():
            return [call["verb"] for call in first.calls()
                    if call["objectRef"]["resource"] == "leases" and began(call) >= started]

        # The server notes a call after its answer, and may note one of the killed process late.
        wait_until(lambda: "get" in verbs()[:-1], "its first look and what follows in the audit log")
        looks = verbs()
        self.assertIn(looks[looks.index("get") + 1], WRITES,
                      f"it took the lease at its first look, whichever process held it before: {looks}")

    def test_after_a_backup_was_restored_all_is_read_anew(self):
        """What the operators held is of a time that has not been, and watches from there would wait for it to come again."""
        first, second = self.start_two()
        first.keep_running()
        second.keep_running()
        self.cluster.server.back_up()
        wait_until(lambda: first.is_leading() or second.is_leading(), "one that leads", 180)
        self.cluster.start_job("unsaved", steps=1_000_000)
        self.cluster.wait_for("unsaved", "steps", lambda status: status.get("progress", {}).get("step", 0) > 0)
        for _ in range(1000):  # more than is written while the test looks
            self.cluster.post("/api/v1/namespaces/default/configmaps", {"metadata": {"generateName": "filler-"}})
        processes = {operator: operator.process for operator in (first, second)}
        self.cluster.server.set_back()
        self.cluster.start_job("later", steps=1_000_000)
        self.cluster.wait_for("later", "steps", lambda status: status.get("progress", {}).get("step", 0) > 0)
        # Who stands by would otherwise lead with what it held. A leader that could not renew in time has ended, and begins
        # with nothing.
        for operator, process in processes.items():
            wait_until(lambda o=operator, p=process: "restored to an older state" in o.said() or o.process is not p,
                       f"{operator.name} to notice")
        step = self.cluster.step("j")
        self.cluster.wait_for("j", "more steps", lambda now: now["progress"]["step"] > step + 50)

    def test_without_the_lease_it_is_not_ready(self):
        first = self.start("first", 1)
        first.keep_running()
        wait_until(first.is_leading, "the first to lead", 180)
        wait_until(first.is_ready, "the first to be ready", 180)
        process = first.process
        self.cluster.must("kubectl", f"--kubeconfig={self.cluster.admin}", "delete", "rolebinding", "ratoon-leader",
                          "--namespace=trees")
        self.assertEqual(process.wait(180), 1, "who cannot renew does not lead")
        wait_until(lambda: first.process is not process, "its next start")
        status, said = wait_until(lambda: first.ask("/readyz"), "an answer", 180)
        wait_until(lambda: first.page("/readyz").startswith("the lease could not be read"), "the reason", 180)
        self.assertEqual(status, 503, said)

    def test_with_a_copy_that_is_behind_it_is_not_ready(self):
        first = self.start("first", 1)
        wait_until(first.is_leading, "the first to lead", 180)
        wait_until(first.is_ready, "the first to be ready", 180)
        self.cluster.must("kubectl", f"--kubeconfig={self.cluster.admin}", "delete", "clusterrolebinding",
                          "--selector=app.kubernetes.io/name=ratoon")
        # A watch that is open is not looked at again by the server: the next one, within a minute, is refused.
        wait_until(lambda: first.ask("/readyz") == (503, "the cached objects are too old\n"), "the copies to be too old", 150)
        self.assertTrue(first.is_leading(), "the lease is another right")


if __name__ == "__main__":
    if missing := missing_programs("helm", "kubectl"):
        print(f"SKIPPED: {', '.join(missing)} not found; scripts/setup --only test builds them (needs Go 1.25)")
        sys.exit(77)
    unittest.main()
