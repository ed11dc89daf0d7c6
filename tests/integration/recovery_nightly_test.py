"""kill -9 of one of four members of a local run, to the next step of all: RATOON_TRIALS times (20), in one run.

Seen from outside: from the signal to the recovery in status.json, which the runner writes once all members have made a
step. The load stands beside the figures, which RATOON_FIGURES=file.json keeps; the goal holds at any."""

import os
import random
import statistics
import time
import unittest

from local_run import LocalRun, keep_figures, wait_until

GOAL_SECONDS = 2.0


class Recovery(unittest.TestCase):
    def test_four_members_step_again_within_two_seconds(self):
        trials = int(os.environ.get("RATOON_TRIALS", "20"))
        seed = int(os.environ.get("RATOON_SEED", random.randrange(2**32)))
        chance = random.Random(seed)
        run = LocalRun(command=["counter", "--steps", "1000000000", "--pause-ms", "10"], spec={"numNodes": 4})
        self.addCleanup(run.close)
        run.start()
        run.wait_for_commit(10)
        seconds, phases = [], {}
        for trial in range(trials):
            pid = wait_until(lambda: self.a_pid(run, chance), "all four to train")
            before = self.newest_recovery(run)
            began = time.monotonic()
            os.kill(pid, 9)
            wait_until(lambda b=before: self.newest_recovery(run) != b, f"recovery {trial + 1}", 60)
            seconds.append(time.monotonic() - began)
            for name, value in run.job_status()["lastDisruption"]["phases"].items():
                phases.setdefault(name, []).append(value)
        keep_figures({"seed": seed, "trials": trials, "median_seconds": round(statistics.median(seconds), 3),
                      "phases": {name: round(statistics.median(values), 3) for name, values in phases.items()},
                      "seconds": [round(one, 3) for one in seconds]})
        self.assertLessEqual(statistics.median(seconds), GOAL_SECONDS)

    def newest_recovery(self, run):
        """status.json keeps a hundred, so their number says nothing in a long run; each names another incarnation."""
        return run.status().get("recoveries", [])[-1:]

    def a_pid(self, run, chance):
        members = [m for m in run.status()["members"] if m["pids"] and m["phase"] == "Running"]
        return chance.choice(members)["pids"][0] if len(members) == 4 and run.job_status()["formed"] else None


if __name__ == "__main__":
    unittest.main()
