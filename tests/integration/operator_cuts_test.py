"""The operator is killed between any two of its writes, and the API server goes away: on a real API server, with processes
for pods. Each loss is counted once, mended once, and costs nobody else anything."""

import os
import random
import signal
import sys
import time
import unittest

from api_server import missing_programs
from local_run import wait_until
from stand_in_cluster import Operator, StandInCluster
from write_proxy import WriteProxy

IS_WHOLE = os.environ.get("RATOON_WHOLE") == "1"  # every cut, and a long absence
AWAY_SECONDS = 60 if IS_WHOLE else 8
SEED = int(os.environ.get("RATOON_SEED", str(random.randrange(1_000_000))))
SAMPLE = 3


class Cuts(unittest.TestCase):
    def setUp(self):
        print(f"RATOON_SEED={SEED}", flush=True)
        self.random = random.Random(SEED)
        self.cluster = StandInCluster(self)

    def start_job(self):
        # Long enough for a process that waits for a processor of a busy machine: each loss has to be the test's own.
        self.cluster.start_job("j", steps=10_000_000, disruptionPolicy={"suspectAfterSeconds": 15})
        return self.cluster.wait_for("j", "steps", self.is_stepping(20))

    @staticmethod
    def is_stepping(step, attempt=0):
        return lambda status: (status.get("phase") == "Running" and status["attempt"] > attempt
                               and status.get("progress", {}).get("step", 0) > step)

    def members(self):
        return {int(pod["metadata"]["labels"]["ratoon.dev/index"]): pod["metadata"]["name"] for pod in self.cluster.pods("j")}

    def lose_one(self):
        """It falls silent, as with its node. Returns what is to be true when that was mended."""
        before, members = self.cluster.status("j"), self.members()
        index = self.random.randrange(2)
        self.cluster.kubelet.process_of(members[index]).send_signal(signal.SIGSTOP)
        return before, members, index

    def expect_mended(self, lost, attempts=1):
        before, members, index = lost
        # The step in the status may be one of the lost world. A recovery is recorded when all members step again.
        is_stepping = self.is_stepping(before["progress"]["step"] + 20, before["attempt"])
        after = self.cluster.wait_for("j", "a recovery from the loss", lambda status: is_stepping(status) and
                                      status.get("lastDisruption") != before.get("lastDisruption"), 180)
        self.assertEqual(after["restarts"]["disruption"], before["restarts"]["disruption"] + 1,
                         f"one loss is counted once\n{self.cluster.logs()}")
        self.assertEqual(after["restarts"]["application"], 0)
        self.assertLessEqual(after["attempt"], before["attempt"] + attempts)
        wait_until(lambda: len(self.members()) == 2, "two members", 180)
        now = self.members()
        self.assertEqual(now[1 - index], members[1 - index], "the other one is not touched")
        self.assertEqual(now[index], next_incarnation(members[index]))

    def test_the_operator_is_killed_between_any_two_writes_of_a_recovery(self):
        proxy = WriteProxy(self.cluster)
        self.addCleanup(proxy.close)
        operator = Operator(self, self.cluster, "cut", 1, server=proxy.url)
        operator.keep_running()
        self.start_job()
        proxy.forget()
        self.expect_mended(self.lose_one())
        wait_until(lambda: sum(write.endswith("/events") for write in proxy.writes) >= 3, "what is told of it", 180)
        recorded = list(proxy.writes)  # the last event says that all step again; what comes later is progress alone
        print("recorded:", *recorded, sep="\n  ", flush=True)
        self.assertTrue(any(write.startswith("DELETE") for write in recorded), recorded)
        self.assertTrue(any(write.endswith("/pods") for write in recorded), recorded)

        cuts = [(number, side) for number in range(1, len(recorded) + 1) for side in ("before", "after")]
        for number, side in cuts if IS_WHOLE else self.random.sample(cuts, SAMPLE):
            with self.subTest(f"{side} write {number}"):
                killed = []

                def kill():
                    killed.append(time.time())
                    operator.kill()

                proxy.cut_at(number, side, kill)
                lost = self.lose_one()
                wait_until(lambda: killed, f"write {number}", 180)
                # A world that was announced and not formed is announced anew: nobody may sit in both.
                self.expect_mended(lost, attempts=2)
        print(f"{len(cuts) if IS_WHOLE else SAMPLE} cuts", flush=True)

    def test_the_api_server_is_away_for_a_while(self):
        operator = Operator(self, self.cluster, "alone", 1, "--leader-elect")
        operator.keep_running()
        before = self.start_job()
        self.cluster.server.kill_api_server()
        left = time.monotonic()
        trained = self.newest_step()
        while time.monotonic() - left < AWAY_SECONDS:
            step = self.newest_step()
            wait_until(lambda: self.newest_step() > step, "training without an API server")
        self.assertGreater(self.newest_step(), trained)
        self.cluster.server.revive_api_server()
        after = self.cluster.wait_for("j", "the operator to catch up", self.is_stepping(self.newest_step()), 120)
        self.assertEqual((after["attempt"], after["restarts"]), (before["attempt"], before["restarts"]), "nothing was lost")
        self.assertEqual(len(self.cluster.kubelet.running), 2)
        lost = self.lose_one()  # and it is as good as before
        # On a busy machine it may lose its lease, and end, between the announcement of a world and its beginning.
        self.expect_mended(lost, attempts=2)

    def newest_step(self):
        """By what the trainers print."""
        found = [line.split() for path in self.cluster.folder.glob("j-*.out") for line in path.read_text().splitlines()
                 if line.startswith("attempt ")]
        return max(int(words[words.index("step") + 1]) for words in found)


def next_incarnation(name):
    head, number = name.rsplit("-i", 1)
    return f"{head}-i{int(number) + 1}"


def main():
    if missing := missing_programs("helm", "kubectl"):
        print(f"SKIPPED: {', '.join(missing)} not found; scripts/setup --only test builds them (needs Go 1.25)")
        sys.exit(77)
    unittest.main()


if __name__ == "__main__":
    main()
