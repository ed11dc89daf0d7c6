"""An elastic job goes on with fewer members while one is missing, and hands over to a larger world when it is back."""

import re
import signal
import unittest

from local_run import LocalRun, wait_until

# Without an end: a world that is to hand over must step.
FOREVER = ["counter", "--steps", "1000000", "--pause-ms", "10"]
# As where machines are scarce: a member that is lost does not come back while the file is there.
WAITS_TO_RETURN = 'while [ "$RATOON_INCARNATION" != 0 ] && [ -e "$0" ]; do sleep 0.05; done; exec "$@"'


class Elastic(unittest.TestCase):
    def make_run(self, command, **arguments):
        """A run, and the file that keeps a lost member away."""
        run = LocalRun(command=["unknown yet"], **arguments)
        self.addCleanup(run.close)
        scarce = run.root / "machines are scarce"
        scarce.touch()
        run.document["spec"]["roles"][0]["template"]["spec"]["containers"][0]["command"] = [
            "sh", "-c", WAITS_TO_RETURN, str(scarce), *command]
        run.write_job()
        return run, scarce

    def finish(self, run):
        """Stops it and goes on to an end that is near, as the same command does."""
        run.process.send_signal(signal.SIGINT)
        code, output = run.finish()
        self.assertEqual(code, 130, output)
        before = "".join(run.logs().values())
        last = max(run.commits())[1] + 20
        run.start("--", "--steps", str(last))
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        self.assertIn(f"completed at step {last}", output)
        done = f"done: {last} steps, sum {last * (last - 1) // 2}\n"
        # A member that comes back late may miss the last world, and then says nothing of the end.
        world = int(re.findall(r"trains with (\d+) process", output)[-1])
        self.assertEqual("".join(run.logs().values()).count(done) - before.count(done), world, run.logs())

    def test_shrinks_and_grows(self):
        # This test looks for checkpoints of attempt 2 when attempt 3 commits others.
        run, scarce = self.make_run(FOREVER, spec={
            "checkpointPolicy": {"intervalSteps": 10, "keepLast": "All"},
            "elasticPolicy": {"minReplicas": 1, "shrinkAfterSeconds": 0, "growCooldownSeconds": 5}})
        run.start()
        # A member that joins late comes into a later world.
        wait_until(lambda: run.job_status().get("worldSize") == 2, "a world of two")
        first = run.job_status()["attempt"]
        run.wait_for_commit(20, attempt=first)
        run.hurt(1)
        shrunk = wait_until(lambda: (lambda now: now if now.get("worldSize") == 1 else None)(run.job_status()), "a world of one")
        self.assertIn("1 member is missing", shrunk["message"])
        self.assertEqual([m.get("absent", False) for m in shrunk["members"]], [False, True])
        alone = run.wait_for_commit(1, attempt=first + 1)
        scarce.unlink()
        wait_until(lambda: run.job_status()["attempt"] == first + 2 and run.job_status().get("worldSize") == 2, "two again")
        run.wait_for_commit(1, attempt=first + 2)
        left = max(step for attempt, step in run.commits() if attempt == first + 1)
        self.assertGreaterEqual(left, alone)
        self.assertIn(f"attempt {first + 2} trains with 2 processes from step {left}", run.output())
        self.assertIn(f"handed over at step {left}", run.logs()["counter-worker-0-i0"], "no step is made again")
        self.assertEqual(run.job_status()["restarts"]["disruption"], 1, "growing is no loss")
        self.finish(run)

    def test_grows_beyond_the_wanted_number_where_a_node_comes(self):
        run = LocalRun(command=FOREVER,
                       spec={"numNodes": 1, "elasticPolicy": {"minReplicas": 1, "maxReplicas": 2, "growCooldownSeconds": 1}})
        self.addCleanup(run.close)
        trace = run.root / "trace.csv"
        trace.write_text("0,add,red\n15000,add,blue\n")
        run.start("--trace", trace)
        alone = wait_until(lambda: (lambda now: now if now.get("worldSize") == 1 else None)(run.job_status()),
                           "the one that is wanted")
        self.assertNotIn("missing", alone["message"])
        wait_until(lambda: run.job_status().get("worldSize") == 2, "one more")
        self.assertEqual(run.job_status()["restarts"]["disruption"], 0, "growing is no loss")
        run.process.terminate()
        self.assertEqual(run.finish()[0], 130, run.output())

    def test_waits_where_too_few_are_left(self):
        run, scarce = self.make_run(["gated_counter", "--steps", "100"], held_at=95, spec={
            "elasticPolicy": {"minReplicas": 2, "shrinkAfterSeconds": 0, "growCooldownSeconds": 0}})
        run.start()
        run.wait_for_commit(20)
        run.hurt(1)
        wait_until(lambda: not run.job_status()["formed"], "the end of the world")
        scarce.unlink()
        wait_until(lambda: run.job_status()["attempt"] == 2 and run.job_status()["formed"], "attempt 2")
        run.let_pass(100)
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        self.assertEqual({attempt: {line[1] for line in run.lines() if line[0] == attempt} for attempt in (1, 2)},
                         {1: {0, 1}, 2: {0, 1}})


if __name__ == "__main__":
    unittest.main()
