"""Ctrl-C for `ratoon run` and `ratoon launch`: all members save after one step and leave, the same command goes on with the
next; who cannot leave in time is killed, and a second Ctrl-C does not wait."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from local_run import BIN, LocalRun, wait_until
from noticed_ranks import STEP


class CtrlC(unittest.TestCase):
    def setUp(self):
        self.words = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-words-"))
        self.addCleanup(shutil.rmtree, self.words)

    def begin(self, *flags, grace=0, agrees=True, save_every=1_000_000, **spec):
        """Two members that agree once a step, and save by themselves every million steps."""
        command = ["drain_probe", *(["--agree", str(self.words)] if agrees else []), *map(str, flags)]
        policy = {"intervalSteps": save_every, **({"graceSeconds": grace} if grace else {})}
        run = LocalRun("drained", {"checkpointPolicy": policy, **spec}, command)
        self.addCleanup(run.close)
        return run.start()

    @staticmethod
    def steps(run, rank):
        """[step] that the rank trained, over all attempts."""
        found = (step for text in run.logs().values() for step in STEP.findall(text))
        return sorted(int(step) for r, step, _ in found if int(r) == rank)

    def wait_for_step(self, run, step):
        for rank in (0, 1):
            wait_until(lambda r=rank: self.steps(run, r)[-1:] >= [step], f"step {step} of rank {rank}")

    def assert_saved_and_left(self, run):
        run.process.send_signal(signal.SIGINT)
        code, output = run.finish()
        self.assertEqual(code, 130, output)
        last = self.steps(run, 0)[-1]
        self.assertEqual(self.steps(run, 1)[-1], last, "all leave after one step")
        self.assertEqual(run.commits(), [(1, last + 1)])
        self.assertIn(f"stopped at step {last + 1}; the same command goes on from step {last + 1}", output)
        self.assertNotIn("killed", output)
        self.assertNotIn("the same command continues the run:", "".join(run.logs().values()), "a person typed another one")
        return last

    def test_it_saves_and_the_same_command_goes_on(self):
        run = self.begin("--steps", 100_000)
        self.wait_for_step(run, 5)
        total = self.assert_saved_and_left(run) + 30
        container = run.document["spec"]["roles"][0]["template"]["spec"]["containers"][0]
        container["command"] += ["--steps", str(total)]  # the last one counts: the test is to end
        run.write_job()
        run.start()
        self.assertEqual(run.finish()[0], 0, run.output())
        for rank in (0, 1):
            self.assertEqual(self.steps(run, rank), list(range(total)), "each step once")

    def test_processes_of_one_member_wait_for_each_other(self):
        run = self.begin("--steps", 100_000, numNodes=1, processesPerNode=2)
        self.wait_for_step(run, 5)
        self.assert_saved_and_left(run)

    def test_who_cannot_leave_is_killed_at_the_end_of_the_grace(self):
        run = self.begin("--steps", 100_000, grace=1, disruptionPolicy={"suspectAfterSeconds": 60})
        self.wait_for_step(run, 5)
        os.kill(run.pids_of(1)[0], signal.SIGSTOP)
        run.process.send_signal(signal.SIGINT)
        code, output = run.finish()
        self.assertEqual(code, 130, output)
        self.assertIn("within 1 s", output)
        self.assertIn("members that had not left yet were killed", output)
        self.assertIn("the same command goes on from the beginning: no checkpoint was saved yet", output)

    def test_ranks_that_agree_on_nothing_go_on_to_their_next_save(self):
        run = self.begin("--steps", 1_000_000, "--grace-seconds", 300, grace=300, agrees=False, save_every=400)
        self.wait_for_step(run, 5)
        told_at = min(self.steps(run, rank)[-1] for rank in (0, 1))
        run.process.send_signal(signal.SIGINT)
        code, output = run.finish()
        self.assertEqual(code, 130, output)
        attempt, step = run.commits()[-1]
        self.assertEqual((attempt, step % 400), (1, 0), output)
        self.assertGreater(step, told_at)
        self.assertIn(f"the same command goes on from step {step}", output)
        self.assertIn("these ranks do not agree on requests in each step, so they train until the next save",
                      "".join(run.logs().values()))

    def test_what_one_saves_before_it_and_another_after_it_is_gone_on_with(self):
        go_on = self.words / "go-on"
        run = self.begin("--steps", 1_000_000, "--pause-ms", 3, "--hold", go_on, "--hold-at", 995, "--hold-rank", 1, grace=60,
                         agrees=False, save_every=1000)
        wait_until(lambda: "held" in "".join(run.logs().values()), "rank 1 to come near the save", 180)
        wait_until(lambda: self.steps(run, 0)[-1:] >= [1003], "rank 0 to be past it", 180)
        run.process.send_signal(signal.SIGINT)
        wait_until(lambda: "these ranks do not agree on requests in each step" in "".join(run.logs().values()),
                   "Ctrl-C to be heard")
        go_on.touch()
        code, output = run.finish()
        self.assertEqual(code, 130, output)
        self.assertEqual(run.commits()[-1], (1, 1000), "no other save has all ranks")
        self.assertIn("the same command goes on from step 1000", output)

    def test_two_at_once_are_one_wish(self):
        """As from a supervisor that tells the process and then its group. They are one wish within 100 ms: where this test
        itself needed longer from one to the other, it tries again."""
        for _ in range(20):
            run = self.begin("--steps", 100_000, "--pause-ms", 5)
            self.wait_for_step(run, 20)
            began = time.monotonic()
            run.process.send_signal(signal.SIGINT)
            os.killpg(run.process.pid, signal.SIGINT)
            seconds = time.monotonic() - began
            code, output = run.finish()
            self.assertEqual(code, 130, output)
            if seconds < 0.05:
                break
            shutil.rmtree(self.words)  # the ranks of the next run agree in it anew
            self.words.mkdir()
        self.assertLess(seconds, 0.05, "this machine is too slow for two signals at once")
        self.assertNotIn("were killed", output)

    def test_a_second_one_does_not_wait(self):
        run = self.begin("--steps", 2, "--pause-ms", 600_000, grace=600)
        self.wait_for_step(run, 0)
        run.process.send_signal(signal.SIGINT)
        wait_until(lambda: "Ctrl-C again stops them at once" in run.output(), "the first one to be heard")
        run.process.send_signal(signal.SIGINT)
        code, output = run.finish()
        self.assertEqual(code, 130, output)
        self.assertEqual(run.commits(), [])

    def test_launch_of_several_does_the_same(self):
        folder = self.words / "run"
        log = self.words / "output.txt"
        with open(log, "w") as output:
            process = subprocess.Popen(
                [BIN / "ratoon", "launch", "--nproc", "2", "--grace", "60", "--folder", folder, "--",
                 "drain_probe", "--agree", self.words, "--steps", "100000", "--save-every", "1000000"],
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        logs = folder / "logs"
        wait_until(lambda: logs.exists() and sum("step 5 " in p.read_text() for p in logs.iterdir()) >= 2, "step 5")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=180), 130, log.read_text())
        self.assertIn("within 60 s", log.read_text())
        stopped, resumed = re.search(r"stopped at step (\d+); the same command goes on from step (\d+)",
                                     log.read_text()).groups()
        self.assertEqual(stopped, resumed)


if __name__ == "__main__":
    unittest.main()
