"""An elastic job goes on with fewer members while one is missing, and hands over to a larger world when it is back."""

import unittest

from local_run import LocalRun, wait_until

STEPS = 600
SUM = STEPS * (STEPS - 1) // 2

# A replacement takes its time, as where machines are scarce.
TRAINER = f'if [ "$RATOON_INCARNATION" != 0 ]; then sleep 2; fi; exec counter --steps {STEPS} --pause-ms 20'


class Elastic(unittest.TestCase):
    def test_shrinks_and_grows(self):
        run = LocalRun(command=["sh", "-c", TRAINER],
                       spec={"elasticPolicy": {"minReplicas": 1, "shrinkAfterSeconds": 0, "growCooldownSeconds": 5}})
        self.addCleanup(run.close)
        run.start()
        run.wait_for_commit(20)
        run.hurt(1)
        wait_until(lambda: run.job_status().get("worldSize") == 1, "a world of one")
        self.assertIn("1 member is missing", run.job_status()["message"])
        self.assertEqual([m.get("absent", False) for m in run.job_status()["members"]], [False, True])
        alone = run.wait_for_commit(1, attempt=2)

        wait_until(lambda: run.job_status()["attempt"] == 3 and run.job_status().get("worldSize") == 2, "two again")
        left = max(step for attempt, step in run.commits() if attempt == 2)
        self.assertGreaterEqual(left, alone)
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        self.assertIn(f"attempt 3 trains with 2 processes from step {left}", output)
        self.assertIn(f"handed over at step {left}", run.logs()["counter-worker-0-i0"], "no step is made again")
        self.assertIn(f"completed at step {STEPS}", output)
        self.assertEqual(sum(f"done: {STEPS} steps, sum {SUM}" in text for text in run.logs().values()), 2, run.logs())
        self.assertEqual(run.job_status()["restarts"]["disruption"], 1, "growing is no loss")

    def test_grows_beyond_the_wanted_number_where_a_node_comes(self):
        run = LocalRun(command=["counter", "--steps", str(STEPS), "--pause-ms", "20"],
                       spec={"numNodes": 1, "elasticPolicy": {"minReplicas": 1, "maxReplicas": 2, "growCooldownSeconds": 1}})
        self.addCleanup(run.close)
        trace = run.root / "trace.csv"
        trace.write_text("0,add,red\n3000,add,blue\n")
        run.start("--trace", trace)
        wait_until(lambda: run.job_status().get("worldSize") == 1, "the one that is wanted")
        self.assertNotIn("missing", run.job_status()["message"])
        wait_until(lambda: run.job_status().get("worldSize") == 2, "one more")
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        self.assertEqual(sum(f"done: {STEPS} steps, sum {SUM}" in text for text in run.logs().values()), 2, run.logs())
        self.assertEqual(run.job_status()["restarts"]["disruption"], 0, "growing is no loss")

    def test_waits_where_too_few_are_left(self):
        run = LocalRun(command=["sh", "-c", TRAINER],
                       spec={"elasticPolicy": {"minReplicas": 2, "shrinkAfterSeconds": 0, "growCooldownSeconds": 0}})
        self.addCleanup(run.close)
        run.start()
        run.wait_for_commit(20)
        run.hurt(1)
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        self.assertEqual({attempt: {line[1] for line in run.lines() if line[0] == attempt} for attempt in (1, 2)},
                         {1: {0, 1}, 2: {0, 1}})


if __name__ == "__main__":
    unittest.main()
