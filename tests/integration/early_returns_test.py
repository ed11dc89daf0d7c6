"""A training function that returns before the run's end, in real processes: no run is complete by that. Where the world changed
it is called again, where it was told to leave its process ends with 80, and else with 82 and where it stood."""

import os
import re
import signal
import subprocess
import unittest

from local_run import BIN, PATIENCE_SECONDS, LocalRun, wait_until

STEPS = 100
SUM = STEPS * (STEPS - 1) // 2
HELD_AT = 25
ON_ITS_OWN = ("break", "return", "throw")
TOLD = ("flag", "handler")
CALL_FINISH = "the training function returned at step 25 of 100: to end the run early, call finish() and let the loop " \
              "over steps() end by itself; the last save is that of step 20"


class Alone(unittest.TestCase):
    def setUp(self):
        self.run_ = LocalRun(held_at=HELD_AT)
        self.addCleanup(self.run_.close)
        (self.run_.root / "words").mkdir()

    def start(self, how):
        return subprocess.Popen(
            [BIN / "leaving_probe", "--agree", self.run_.root / "words", "--leave", how, "--leave-at", str(HELD_AT),
             "--steps", str(STEPS), "--save-folder", self.run_.root / "s", "--run-name", "a", "--save-every", "10"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **self.run_.gate.environment})

    def finish(self, process):
        self.run_.let_pass(STEPS)
        said, _ = process.communicate(timeout=PATIENCE_SECONDS)
        return process.returncode, said

    def saved(self):
        return max((int(path.name[1:11]) for path in self.run_.root.glob("s/a/manifests/*.json")), default=0)

    def assert_goes_on_and_is_complete(self):
        code, said = self.finish(self.start("never"))
        self.assertEqual(code, 0, said)
        self.assertIn(f"the loop is over after {STEPS} steps, sum {SUM}", said)
        self.assertEqual(self.saved(), STEPS)

    def test_one_that_leaves_on_its_own_ends_with_82_and_goes_on_from_its_last_save(self):
        for how in ON_ITS_OWN:
            with self.subTest(how):
                self.setUp()
                code, said = self.finish(self.start(how))
                self.assertEqual(code, 82, said)
                self.assertIn(CALL_FINISH, said)
                self.assertEqual(self.saved(), 20)
                self.assert_goes_on_and_is_complete()

    def test_one_that_was_told_to_leave_ends_with_80(self):
        for how in TOLD:
            with self.subTest(how):
                self.setUp()
                process = self.start(how)
                wait_until(lambda: self.saved() == 20, "a save")
                process.send_signal(signal.SIGTERM)
                code, said = self.finish(process)
                self.assertEqual(code, 80, said)
                self.assertRegex(said, r"the training function returned at step \d+ of 100 because it was told to leave; ")
                self.assertGreaterEqual(self.saved(), 20)
                self.assert_goes_on_and_is_complete()


class UnderRatoonRun(unittest.TestCase):
    def start(self, how, nodes=2):
        run = LocalRun("leaving", {"numNodes": nodes}, ["unknown yet"], held_at=HELD_AT)
        self.addCleanup(run.close)
        (run.root / "words").mkdir()
        run.document["spec"]["roles"][0]["template"]["spec"]["containers"][0]["command"] = [
            "leaving_probe", "--agree", str(run.root / "words"), "--leave-at", str(HELD_AT), "--steps", str(STEPS)]
        run.write_job()
        run.start("--", "--leave", how)
        run.wait_for_commit(20)
        return run

    def assert_completes(self, run, members):
        run.let_pass(STEPS)
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        self.assertIn(f"completed at step {STEPS}", output)
        over = re.findall(rf"the loop is over after {STEPS} steps, sum {SUM}\n", "".join(run.logs().values()))
        self.assertEqual(len(over), members, run.logs())

    def assert_failed(self, run):
        run.let_pass(STEPS)
        code, output = run.finish()
        self.assertNotEqual(code, 0, output)
        self.assertEqual(run.job_status()["phase"], "Failed", output)
        self.assertIn(CALL_FINISH, output)
        self.assertNotIn("completed", output)
        self.assertEqual(max(run.commits())[1], 20)

    def test_a_job_whose_only_member_leaves_on_its_own_fails_and_its_next_start_goes_on(self):
        for how in ON_ITS_OWN:
            with self.subTest(how):
                run = self.start(how, nodes=1)
                self.assert_failed(run)
                run.start("--", "--leave", "never")
                self.assert_completes(run, 1)

    def test_a_job_whose_members_leave_together_fails_too(self):
        self.assert_failed(self.start("break"))

    def test_a_member_that_was_told_to_leave_is_replaced(self):
        for how in TOLD:
            with self.subTest(how):
                run = self.start(how)
                run.hurt(1, signal.SIGTERM)
                run.let_pass(STEPS - 1)
                wait_until(lambda run=run: run.job_status()["attempt"] > 1 and run.job_status()["formed"], "another world")
                self.assert_completes(run, 2)
                self.assertEqual(run.job_status()["restarts"]["application"], 0)
                self.assertIn("because it was told to leave", run.logs()["leaving-worker-1-i0"])

    def test_a_function_that_catches_everything_is_called_again_where_the_world_changed(self):
        run = self.start("all")
        run.hurt(1)
        self.assert_is_called_again(run)

    def test_one_that_returns_since_its_own_collective_failed_is_called_again(self):
        run = self.start("reset")
        wait_until((run.root / "words" / f"1-{HELD_AT - 1}-1").exists, "rank 1 to be at the gate")
        run.process.send_signal(signal.SIGSTOP)  # the loss is news to the other one after it returned
        run.hurt(1)
        (run.root / "words" / "reset-1").touch()
        wait_until(lambda: "caught: connection reset by peer" in run.logs()["leaving-worker-0-i0"], "the function to return")
        run.process.send_signal(signal.SIGCONT)
        self.assert_is_called_again(run)

    def assert_is_called_again(self, run):
        wait_until(lambda: run.job_status()["attempt"] > 1 and run.job_status()["formed"], "another world")
        self.assert_completes(run, 2)
        self.assertIn("caught", run.logs()["leaving-worker-0-i0"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
